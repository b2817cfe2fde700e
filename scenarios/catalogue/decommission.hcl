title = "a part of the cluster is drained and switched off"

about = <<-EOT
  An operator retires machines: the nodes drain, their allocations move within a deadline, and
  the machines are switched off. A node that becomes ineligible, drains or goes down causes
  evaluations; after an orderly drain, few of them find anything to do.
EOT

sources = ["https://developer.hashicorp.com/nomad/docs/manage/nodes/drain"]

example {
  chart = "nodes"
  variables = {
    nodes = 100
  }

  reading = <<-EOT
    A drain makes nodes ineligible and moves their allocations, but the nodes stay ready. They go down
    only when the machines are switched off. By then most allocations have moved: compare the plans of
    the two phases, which create as many evaluations. Those that are left wait for the drain's
    deadline. The leader asks one allocation of each group to leave at a time, gathers such requests
    for a second, and overlooks replacements that become healthy within that second. Real servers
    leave as many.
  EOT
}

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 500
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
  default     = 50
  min         = 1
  max         = 10000
}

variable "retired" {
  description = "share of the nodes that are retired, 0 to 1"
  type        = "number"
  default     = 0.2
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

cluster {
  servers    = var.servers
  schedulers = var.schedulers
}

locals {
  going = round(var.nodes * var.retired)
}

fleet {
  group "staying" {
    nodes = var.nodes - local.going
  }

  group "retired" {
    nodes = local.going
  }
}

job "system" {
  type   = "system"
  copies = var.system_jobs
}

job "service" {
  type   = "service"
  copies = var.service_jobs
  count  = max(round(var.nodes / 10), 1)
}

phase "start" {
  event "start_clients" {}

  event "register_jobs" {
    at = "20s"
  }

  until "settled" {}
}

phase "drain" {
  event "drain_nodes" {
    group    = "retired"
    deadline = "5m"
  }

  until "recovered" {
    for = "30s"
  }
}

phase "off" {
  event "stop_clients" {
    group = "retired"
  }

  until "recovered" {
    after_down = true
  }
}
