title = "batch jobs wait for room, and each one that ends wakes all that wait"

about = <<-EOT
  Users dispatch more batch jobs than there is room for. A job that finds none leaves a blocked
  evaluation. Jobs run a few seconds, and each allocation that ends makes every blocked evaluation
  be tried again, though there is room for one of them. A retry that fails writes no entry.
EOT

sources = ["https://github.com/hashicorp/nomad/pull/27184"]

example {
  chart = "queues"

  reading = <<-EOT
    Room is for 100 jobs, and there are 500. Those that run end five seconds later, most of them
    within two seconds, and each end wakes all that wait: the peaks are the same few hundred
    evaluations, which workers try 6,300 times for 900 that complete. Retries write no entries, and no
    job has two evaluations, so there is nothing to shed: both brokers write the same log. What costs
    entries is that workers plan for the same room at the same time. Two plans of five are refused,
    and evaluations that are refused twice fail and leave another one.
  EOT
}

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 25
  min         = 1
}

variable "dispatches" {
  description = "number of jobs, each of which places 4 allocations"
  type        = "integer"
  default     = 500
  min         = 1
}

variable "per_second" {
  description = "jobs that users dispatch per second"
  type        = "number"
  default     = 50
  min         = 0.01
}

variable "run_s" {
  description = "seconds that an allocation runs"
  type        = "number"
  default     = 5
  min         = 0.001
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
  run_for            = seconds(var.run_s)

  group "clients" {
    nodes = var.nodes

    resources {
      cpu    = 5000
      memory = 5000
      disk   = 100000
    }
  }
}

job "dispatched" {
  type   = "batch"
  copies = var.dispatches
  count  = 4

  resources {
    cpu    = 300
    memory = 300
    disk   = 300
  }
}

phase "start" {
  event "start_clients" {}

  until "settled" {}
}

phase "dispatch" {
  event "submit_jobs" {
    job        = "dispatched"
    per_second = var.per_second
  }

  # While a job waits for room, one that runs ends in that time.
  until "recovered" {
    for = seconds(var.run_s + 5)
  }
}
