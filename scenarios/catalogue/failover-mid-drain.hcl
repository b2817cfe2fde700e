title = "the leader is killed while a backlog drains"

about = <<-EOT
  The broker's queues live in the leader's memory. A new leader restores every evaluation that
  is still pending in the state. That includes evaluations that were shed but not yet canceled:
  the backlog comes back, and is shed again.
EOT

sources = ["https://github.com/hashicorp/nomad/pull/14621"]

example {
  chart = "queues"
  variables = {
    nodes        = 500
    after_s      = 3
    reaper_batch = 73
  }

  reading = <<-EOT
    The mark shows when the leader is killed. Until another server leads, workers find nobody to
    dequeue from. Then the new leader restores what is still pending in the state. For the legacy
    broker that is the rest of the backlog. For the shedding broker it includes what was shed but not
    yet canceled, which reappears as pending and is shed a second time. No evaluation may be lost on
    the way; the invariants check it.
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

variable "after_s" {
  description = "seconds from the start of the schedulers to the kill of the leader"
  type        = "number"
  default     = 10
  min         = 0
}

variable "reaper_batch" {
  description = "maximum evaluations canceled in one Raft entry"
  type        = "integer"
  default     = 728
  min         = 1
  max         = 1000000
}

cluster {
  servers = var.servers

  reaper {
    batch = var.reaper_batch
  }
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

phase "register" {
  event "register_jobs" {}
  event "start_clients" {}

  until "registered" {}
}

phase "drain" {
  event "schedulers" {
    per_server = var.schedulers
  }

  event "kill_leader" {
    at  = seconds(var.after_s)
    for = "2m"
  }

  until "recovered" {}
}
