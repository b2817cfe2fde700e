title = "a tenth of the nodes misses a heartbeat: the published example of 60,000 evaluations"

about = <<-EOT
  The arithmetic of the post that introduced load shedding, carried out: 5,000 nodes run 100
  system jobs and 20 allocations of service jobs each, and a tenth of them misses its
  heartbeats. A node that goes down causes one evaluation for each job it runs: 500 x 20 + 500 x
  100 = 60,000. There are 20 service jobs with an allocation for every node. The scheduler
  prefers to spread a job's allocations but need not, so a node may run a job twice, and the sum
  may be a little less.
EOT

sources = ["https://www.hashicorp.com/blog/load-shedding-in-the-nomad-eval-broker"]

example {
  chart = "raft"
  variables = {
    nodes = 100
  }

  reading = <<-EOT
    The evaluations created in the phase miss are the arithmetic of the example: nodes down, times the
    100 system jobs and 20 allocations of each. Nodes expire one after the other, so most of these
    evaluations are the only ones of their job for a while: with few nodes there is little to shed, and
    both brokers write nearly the same log. Add nodes to see them part.
  EOT
}

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 5000
  min         = 1
}

variable "system_jobs" {
  description = "number of system jobs, which run on every node"
  type        = "integer"
  default     = 100
  min         = 1
  max         = 10000
}

variable "service_jobs" {
  description = "number of service jobs, each with an allocation for every node"
  type        = "integer"
  default     = 20
  min         = 0
  max         = 10000
}

variable "miss" {
  description = "share of the nodes that miss their heartbeats, 0 to 1"
  type        = "number"
  default     = 0.1
  min         = 0
  max         = 1
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

locals {
  # Room for everything without the nodes that miss their heartbeats, and a margin.
  slots = var.system_jobs + ceil(var.service_jobs * 1.5)
}

cluster {
  servers    = var.servers
  schedulers = var.schedulers
}

fleet {
  group "clients" {
    nodes = var.nodes

    resources {
      cpu    = local.slots * 20
      memory = local.slots * 32
      disk   = local.slots * 10
    }
  }
}

job "system" {
  type   = "system"
  copies = var.system_jobs
}

job "service" {
  type   = "service"
  copies = var.service_jobs
  count  = var.nodes
}

phase "start" {
  event "start_clients" {}

  event "register_jobs" {
    at = "20s"
  }

  until "settled" {}
}

phase "miss" {
  event "stop_clients" {
    fraction = var.miss
  }

  until "recovered" {
    after_down = true
  }
}
