title = "jobs without room are tried again whenever a node returns"

about = <<-EOT
  An evaluation that cannot place everything leaves a blocked evaluation, which waits for
  capacity. In a full cluster, every node that comes back unblocks all of them, nearly always in
  vain: a storm with little to shed, since every job has only one blocked evaluation.
EOT

sources = ["https://github.com/hashicorp/nomad/issues/27184"]

example {
  chart = "raft"
  variables = {
    nodes = 100
  }

  reading = <<-EOT
    Whenever a node returns, every blocked job tries again, and most find no room and block again.
    There is at most one blocked evaluation for each job, so there is nothing to shed, and both brokers
    write nearly the same entries: load shedding does not help against this storm.
  EOT
}

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 100
  min         = 1
}

variable "service_jobs" {
  description = "number of service jobs"
  type        = "integer"
  default     = 100
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

    # Room for half of what the jobs ask for.
    resources {
      cpu    = max(floor(var.service_jobs * 10 * 0.5 / var.nodes), 1) * 20
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

behaviour "flap" "nodes" {
  share = 0.1
  up    = uniform("1m", "2m")
  down  = "40s"
}

phase "start" {
  event "start_clients" {}

  event "register_jobs" {
    at = "20s"
  }

  until "recovered" {
    for = "30s"
  }
}

phase "thrash" {
  event "begin" {
    behaviour = "nodes"
  }

  until "elapsed" {
    for = "10m"
  }
}

phase "recover" {
  event "end" {
    behaviour = "nodes"
  }

  until "settled" {}
}
