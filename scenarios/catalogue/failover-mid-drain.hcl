title = "the leader is killed while a backlog drains"

about = <<-EOT
  The broker's queues live in the leader's memory. A new leader restores every evaluation that
  is still pending in the state, those that were shed but not yet written off among them: the
  backlog comes back, and is shed again.
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
    The mark shows when the leader is killed. Until another leads, nobody can be asked for work. Then
    the new leader restores whatever is still pending in the state: for the old broker what was left,
    for the new one also what had been shed but not written off yet, which jumps up as pending and is
    shed a second time. No evaluation may be lost on the way; the invariants say that none was.
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
  description = "seconds from the schedulers' start to the leader's death"
  type        = "number"
  default     = 10
  min         = 0
}

variable "reaper_batch" {
  description = "most evaluations canceled in one Raft entry"
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
