title = "a backlog built up while schedulers were off is drained, and the cancel writes trail behind"

about = <<-EOT
  The run described in the comment of 2022-11-09 on the change that introduced load shedding:
  three servers with two cores each, and 49,730 evaluations pending when the schedulers come on.
  The shedding broker empties its queue within seconds, with two scheduling runs for each job.
  The reaper cancels what was shed in batches of 728: one batch for every acknowledged evaluation
  and one for every tick of 5 s. Once nothing is left to acknowledge, only the ticks remain: the
  published run went from 33,694 cancelable evaluations to 16,950 in 23 ticks.
EOT

sources = ["https://github.com/hashicorp/nomad/pull/14621"]

example {
  chart = "queues"
  variables = {
    nodes        = 500
    reaper_batch = 73
  }

  reading = <<-EOT
    The example is a tenth of the published run, batches included. Look at the phase trail of the
    shedding broker: nothing is pending any more, and the cancelable set shrinks by one batch every
    five seconds, a straight line down, until all cancel writes are in the log. The legacy broker has
    no such trail, but its phase empty lasts until every evaluation is processed. Report two times
    separately: when the queue is empty (the workers are free) and when the cluster has recovered (the
    log is quiet).
  EOT
}

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
  report_allocations = false # as in the published run: see heartbeat-storm

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

threshold "a tenth of the entries until the queue is empty" {
  metric       = "phases.empty.raft_entries"
  broker       = "shedding"
  max_ratio_of = "legacy"
  max_ratio    = 0.1
}
