title = "clients lose the servers for a while, and their allocations are kept"

about = <<-EOT
  With max_client_disconnect, a node that falls silent becomes disconnected instead of down, and
  its allocations become unknown instead of lost. If the client returns in time, its allocations
  are kept and their replacements are stopped. The same machines cause twice the evaluations,
  and there is twice as much to shed.
EOT

sources = ["https://developer.hashicorp.com/nomad/docs/job-specification/group#max_client_disconnect", "https://github.com/hashicorp/nomad/pull/25923"]

example {
  chart = "nodes"
  variables = {
    nodes = 100
  }

  reading = <<-EOT
    The nodes become disconnected instead of down, except those without such allocations. The
    allocations become unknown, and the scheduler places replacements beside them. When the clients
    return, the nodes pass through initializing to ready; the originals are kept and the replacements
    are stopped. Delayed evaluations wait for the time at which the allocations would be lost. The
    state is not quiet until then, although these evaluations find nothing to do.
  EOT
}

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 500
  min         = 1
}

variable "service_jobs" {
  description = "number of service jobs"
  type        = "integer"
  default     = 20
  min         = 1
  max         = 10000
}

variable "share" {
  description = "share of the clients that lose the servers, 0 to 1"
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

fleet {
  group "clients" {
    nodes = var.nodes
  }
}

job "service" {
  type                  = "service"
  copies                = var.service_jobs
  count                 = max(round(var.nodes / 5), 1)
  max_client_disconnect = "10m"
}

phase "start" {
  event "start_clients" {}

  event "register_jobs" {
    at = "20s"
  }

  until "settled" {}
}

phase "disconnect" {
  event "stop_clients" {
    fraction = var.share
  }

  until "elapsed" {
    for = "3m"
  }
}

phase "reconnect" {
  event "resume_clients" {}

  until "settled" {}
}
