title = "allocations of the same jobs fail together"

about = <<-EOT
  A dependency is gone and allocations crash. Each client reports its own failures, within 200 ms.
  The leader gathers for 50 ms what comes over one connection, and makes one evaluation for each
  job in it. So ten allocations of a job that fail together make several evaluations, while every
  node is up.
EOT

sources = ["https://github.com/hashicorp/nomad/pull/13468"]

example {
  chart = "raft"
  variables = {
    nodes = 100
  }

  reading = <<-EOT
    Every minute, ten allocations of every job fail at the same instant. Legacy processes an
    evaluation for almost every failure, follow-ups included. Shedding cancels those that the next
    one of the same job makes needless. Then the scheduler replaces the allocations, and waits longer
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
