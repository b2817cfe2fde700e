title = "a backlog built up while schedulers were off is drained, and the cancel writes trail behind"

about = <<-EOT
  The run in the comment of 2022-11-09 on the change that brought load shedding: three servers
  with two cores each and 49,730 evaluations pending when the schedulers come on. The shedding
  broker empties its queue within seconds, by two scheduling runs of each job; what it shed,
  the reaper writes off in batches of 728, one batch for every acknowledged evaluation and one
  for every tick of 5 s. Once there is nothing left to acknowledge, the ticks alone remain: the
  published run went from 33,694 cancelable evaluations to 16,950 in 23 ticks.
EOT

sources = ["https://github.com/hashicorp/nomad/pull/14621"]

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 4972
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

phase "empty" {
  event "schedulers" {
    per_server = var.schedulers
  }

  until "queue" {
    at_most = 0
  }
}

phase "trail" {
  until "recovered" {}
}
