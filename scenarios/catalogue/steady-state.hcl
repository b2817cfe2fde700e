title = "nothing happens for an hour"

about = <<-EOT
  A healthy cluster at rest: clients heartbeat, and nothing is written. Every storm comes on top
  of what this costs, and every entry in the log here needs an explanation.
EOT

example {
  chart = "raft"
  variables = {
    nodes = 200
  }

  reading = <<-EOT
    After the start nothing happens: a heartbeat that changes nothing is not written. The few entries
    of the phase rest are the leader's own housekeeping; read every storm against them. The start is a
    small storm itself, since every node that becomes ready creates an evaluation for every job.
  EOT
}

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 1000
  min         = 1
}

variable "system_jobs" {
  description = "number of system jobs, which run on every node"
  type        = "integer"
  default     = 10
  min         = 1
  max         = 10000
}

variable "minutes" {
  description = "length of the phase rest, in minutes"
  type        = "number"
  default     = 60
  min         = 1
}

variable "servers" {
  description = "number of servers"
  type        = "integer"
  default     = 3
  min         = 1
  max         = 15
}

variable "schedulers" {
  description = "scheduler workers of each server (num_schedulers)"
  type        = "integer"
  default     = 2
  min         = 1
  max         = 1024
}

cluster {
  servers    = var.servers
  schedulers = var.schedulers
}

fleet {
  group "clients" {
    nodes = var.nodes
  }
}

job "system" {
  type   = "system"
  copies = var.system_jobs
}

phase "start" {
  event "register_jobs" {}
  event "start_clients" {}

  until "settled" {}
}

phase "rest" {
  until "elapsed" {
    for = seconds(var.minutes * 60)
  }
}

threshold "nothing but housekeeping" {
  metric = "phases.rest.raft_entries"
  max    = 10 + var.minutes / 5
}
