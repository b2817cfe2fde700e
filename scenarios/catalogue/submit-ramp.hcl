title = "jobs are submitted ever faster, until placing them takes too long"

about = <<-EOT
  A load test of the servers: jobs come in an open loop, each at its time, however many wait, and
  they come ever faster, until one in a hundred evaluations of the last ten seconds took more than a
  second. Below the rate that the servers can keep up with, an evaluation waits for next to nothing.
  Above it the queue grows every second, and with it the wait of everyone who comes later.
EOT

sources = [
  "https://github.com/hashicorp/nomad/issues/28444",
  "https://github.com/hashicorp/nomad/issues/13933",
]

example {
  chart     = "queues"
  variables = {}

  reading = <<-EOT
    The last mark says at which rate the ramp ended. Both brokers agree, since no job has two
    evaluations. Hardly any evaluation is ready and waits until all workers are busy
    (utilisation.png of a run shows them), and most of these wait for the plan applier, which
    commits one plan after the other: each takes the time until a quorum has stored it. So neither
    more schedulers nor more cores move the limit much: try --schedulers 16. Larger jobs do, since a
    job is one plan: with --count 20 --rising-to 6000 the same servers place about eight times as
    many allocations in a second. Nomad 2.0.5 can be told to commit several plans at a time: try
    --broker 2.0.5+pipeline-1,2.0.5+pipeline-4.

    At the beginning of the ramp workers are busier than a little later. A follower learns that an
    entry is committed with the next one. While entries are rare, its workers look in vain for the
    state that they need, and in releases before 1.4.13, 1.5.9 and 1.6.2 they look again only after
    320 ms.
  EOT
}

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 100
  min         = 1
}

variable "count" {
  description = "allocations of each job: fewer jobs are submitted when each is larger"
  type        = "integer"
  default     = 1
  min         = 1
  max         = 10000
}

variable "rising_to" {
  description = "allocations that are asked for in a second when the ramp ends"
  type        = "number"
  default     = 600
  min         = 20
}

variable "seconds" {
  description = "length of the ramp, which begins with ten allocations a second"
  type        = "number"
  default     = 60
  min         = 10
}

variable "p99_s" {
  description = "how long the slowest of a hundred evaluations may take before the ramp ends, in seconds"
  type        = "number"
  default     = 1
  min         = 0.01
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
  default     = 4
  min         = 1
  max         = 1024
}

locals {
  # What the ramp asks for, and half as long again at its final rate.
  allocs = ceil((10 + var.rising_to) / 2 * var.seconds + var.rising_to * var.seconds / 2)
}

cluster {
  servers    = var.servers
  schedulers = var.schedulers
}

fleet {
  group "clients" {
    nodes = var.nodes

    # Room for all of them.
    resources {
      cpu    = ceil(local.allocs / var.nodes) * 40
      memory = 100000000
      disk   = 100000000
    }
  }
}

job "task" {
  type   = "service"
  copies = ceil(local.allocs / var.count)
  count  = var.count
}

phase "start" {
  event "start_clients" {}

  until "settled" {}
}

phase "ramp" {
  event "submit_jobs" {
    job        = "task"
    per_second = 10 / var.count
    rising_to  = var.rising_to / var.count
    within     = seconds(var.seconds)
  }

  until "slow" {
    p99 = seconds(var.p99_s)
  }
}

phase "catch_up" {
  event "heal" {}

  until "recovered" {}
}
