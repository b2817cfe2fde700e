title = "many workers plan for the same few nodes, and the applier rejects plans"

about = <<-EOT
  Every worker plans on a snapshot of its own. When many evaluations compete for the last room,
  their plans collide: the applier commits the part that still fits, and the worker tries again
  on newer state. More schedulers cause more collisions.
EOT

sources = ["https://github.com/hashicorp/nomad/issues/9506", "https://github.com/hashicorp/nomad/pull/13421"]

example {
  chart = "raft"
  variables = {
    schedulers = 8
  }

  reading = <<-EOT
    Workers submit more plans than there are evaluations: the difference was rejected, in whole or in
    part, and tried again. Run it again with --schedulers 1 and see the difference shrink. The broker
    has no part in this, since no job has two evaluations: both columns are alike, and that is the
    result.
  EOT
}

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 50
  min         = 1
}

variable "service_jobs" {
  description = "number of service jobs, submitted at the same time"
  type        = "integer"
  default     = 200
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
  default     = 8
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

    # Room for nine tenths of what the jobs ask for.
    resources {
      cpu    = max(floor(var.service_jobs * 10 * 0.9 / var.nodes), 1) * 20
      memory = 1000000
      disk   = 1000000
    }
  }
}

job "service" {
  type   = "service"
  copies = var.service_jobs
  count  = 10
}

phase "start" {
  event "start_clients" {}

  until "settled" {}
}

phase "submit" {
  event "register_jobs" {}

  until "recovered" {}
}
