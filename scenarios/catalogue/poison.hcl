title = "every scheduler that takes an evaluation of some jobs panics"

about = <<-EOT
  A scheduler that panics over a job does so on every server. The broker delivers the evaluation
  three times and gives it up; the leader's reaper writes it off as failed, together with a
  follow-up that waits for one to six minutes and fails like it. So nothing is ever lost and nothing
  ever ends: a chain of follow-ups goes on until the job or the scheduler is mended. Meanwhile nodes
  come and go, and each calls for an evaluation of every system job, the poisoned ones too.
EOT

sources = [
  "https://github.com/hashicorp/nomad/issues/20157",
  "https://github.com/hashicorp/nomad/issues/27567",
  "https://github.com/hashicorp/nomad/pull/2555",
]

example {
  chart     = "queues"
  variables = {}

  reading = <<-EOT
    Before load shedding, the evaluations of the poisoned jobs pile up. An evaluation keeps its job
    busy for the 21 s of its three deliveries, and its follow-up takes its place a few minutes
    later, so that no chain ever ends: the backlog grows by what the nodes call for. With shedding
    every ack leaves one pending evaluation of a job, so that the chains of follow-ups run into each
    other, and the backlog stays small. The log grows alike under both, because the delays between
    deliveries, not the broker, set the pace of the poisoned jobs. The other jobs hardly notice:
    compare the medians of the latencies with their far ends. When the schedulers are mended, the
    old broker has a backlog to work through, and under both the last follow-up still waits for up
    to six minutes.
  EOT
}

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 100
  min         = 1
}

variable "system_jobs" {
  description = "number of system jobs, which run on every node"
  type        = "integer"
  default     = 10
  min         = 1
  max         = 10000
}

variable "poisoned" {
  description = "number of system jobs that make schedulers panic"
  type        = "integer"
  default     = 2
  min         = 0
}

variable "flapping" {
  description = "share of the nodes that flap meanwhile"
  type        = "number"
  default     = 0.1
  min         = 0
  max         = 1
}

variable "minutes" {
  description = "how long the schedulers panic, in minutes"
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

behaviour "flap" "nodes" {
  share = var.flapping
  up    = uniform("3m", "6m")
  down  = uniform("1m", "2m")
}

phase "start" {
  event "register_jobs" {}
  event "start_clients" {}

  until "settled" {}
}

phase "poison" {
  event "poison_job" {
    job    = "system"
    copies = var.poisoned
    for    = seconds(var.minutes * 60)
  }

  event "begin" {
    behaviour = "nodes"
  }

  event "end" {
    at        = seconds(var.minutes * 60)
    behaviour = "nodes"
  }

  until "elapsed" {
    for = seconds(var.minutes * 60)
  }
}

phase "mended" {
  until "settled" {}
}
