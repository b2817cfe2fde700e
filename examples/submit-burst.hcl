# At noon an operator drains machines for maintenance, and at the same time a pipeline submits
# its nightly batch jobs, all at once, because somebody mixed up the time zones. Both want the
# same scheduler workers. How long does an evaluation wait, and would more workers help?
#
#   simctl scenario run examples/submit-burst.hcl
#   simctl scenario run examples/submit-burst.hcl --var schedulers=4
#
# Look at nomad.broker.wait_time (p50, p99) and at queue_empty_s of the phase noon, and at the
# chart utilisation.png, which shows the workers. Shedding changes nothing: every job has one
# evaluation, and there is none that another makes superfluous.

title = "thousands of batch jobs are submitted while nodes drain"

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 200
  min         = 10
}

variable "batch_jobs" {
  description = "batch jobs that are submitted at once"
  type        = "integer"
  default     = 2000
  min         = 1
}

variable "schedulers" {
  description = "scheduler workers of each server (num_schedulers)"
  type        = "integer"
  default     = 1
  min         = 1
  max         = 1024
}

locals {
  maintenance = max(round(var.nodes / 10), 1)
}

cluster {
  schedulers = var.schedulers
}

fleet {
  report_allocations = true

  group "staying" {
    nodes = var.nodes - local.maintenance
  }

  group "maintenance" {
    nodes = local.maintenance
  }
}

job "service" {
  type   = "service"
  copies = 20
  count  = max(round(var.nodes / 4), 1)
}

job "batch" {
  type   = "batch"
  copies = var.batch_jobs
  count  = 2
}

phase "start" {
  event "start_clients" {}

  # Only the services: the batch jobs come later.
  event "register_jobs" {
    at   = "20s"
    jobs = ["service"]
  }

  until "settled" {}
}

phase "noon" {
  event "drain_nodes" {
    group    = "maintenance"
    deadline = "10m"
  }

  event "register_jobs" {
    at   = "1s"
    jobs = ["batch"]
  }

  until "settled" {}
}

# Batch work may stay on a draining node until the deadline. Then it has to go, and is evaluated again.
phase "deadline" {
  until "elapsed" {
    for = "11m"
  }
}

threshold "a scheduler looks at everything within a minute" {
  metric = "latencies.nomad.broker.wait_time.p99"
  max    = 60
}
