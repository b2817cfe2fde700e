title = "allocations of the same jobs fail together"

about = <<-EOT
  A dependency is gone and allocations crash. Each client reports its own failures. The leader
  gathers reports for 50 ms, so ten allocations of one job that fail together lead to a single
  evaluation: fan-in at work, while every node is up.
EOT

sources = ["https://github.com/hashicorp/nomad/pull/13468"]

example {
  chart = "raft"
  variables = {
    nodes = 100
  }

  reading = <<-EOT
    Every minute, some allocations of every job fail at the same instant. Failed allocations divided by
    evaluations created is the fan-in ahead of the broker: the leader gathers the clients' updates
    before it creates evaluations. Then the scheduler reschedules the allocations, and waits longer
    each time.
  EOT
}

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 200
  min         = 1
}

variable "service_jobs" {
  description = "number of service jobs"
  type        = "integer"
  default     = 20
  min         = 1
  max         = 1000
}

variable "count" {
  description = "allocations of each service job"
  type        = "integer"
  default     = 50
  min         = 1
}

variable "fail" {
  description = "allocations of each job that fail together"
  type        = "integer"
  default     = 10
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
  report_allocations = true

  group "clients" {
    nodes = var.nodes
  }
}

job "service" {
  type   = "service"
  copies = var.service_jobs
  count  = var.count
}

phase "start" {
  event "start_clients" {}

  event "register_jobs" {
    at = "20s"
  }

  until "settled" {}
}

phase "fail" {
  event "fail_allocs" {
    job   = "service"
    count = var.fail
    times = 5
    every = "60s"
  }

  until "settled" {}
}
