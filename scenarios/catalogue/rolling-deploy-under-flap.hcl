title = "a new version is rolled out while clients come and go"

about = <<-EOT
  A rolling update replaces the allocations of service jobs a few at a time; each step waits
  until the one before is healthy. Meanwhile clients flap, and their evaluations compete with
  the deployment's for the same workers.
EOT

example {
  chart = "raft"
  variables = {
    nodes = 100
  }

  reading = <<-EOT
    Each step of a deployment waits for allocations to become healthy, so clients set its pace, not the
    broker. The flapping racks add node updates and evaluations in between. Check that the deployment
    still ends, and that the final state is the one that was asked for.
  EOT
}

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 300
  min         = 1
}

variable "system_jobs" {
  description = "number of system jobs, which run on every node"
  type        = "integer"
  default     = 5
  min         = 1
  max         = 10000
}

variable "service_jobs" {
  description = "number of service jobs"
  type        = "integer"
  default     = 5
  min         = 1
  max         = 1000
}

variable "count" {
  description = "allocations of each service job"
  type        = "integer"
  default     = 30
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
  start_delay        = uniform("1s", "5s")

  group "clients" {
    nodes = var.nodes
    racks = 10
  }
}

job "system" {
  type   = "system"
  copies = var.system_jobs
}

job "service" {
  type         = "service"
  copies       = var.service_jobs
  count        = var.count
  max_parallel = 5
}

behaviour "flap" "racks" {
  together = "rack"
  share    = 0.3
  up       = uniform("1m", "3m")
  down     = uniform("30s", "1m")
}

phase "start" {
  event "start_clients" {}

  event "register_jobs" {
    at = "20s"
  }

  until "settled" {}
}

phase "deploy" {
  event "begin" {
    behaviour = "racks"
  }

  event "update_job" {
    at  = "10s"
    job = "service"
  }

  event "end" {
    at        = "10m"
    behaviour = "racks"
  }

  until "settled" {}
}
