title = "clients lose the servers for a while, and their allocations are kept"

about = <<-EOT
  With max_client_disconnect a node that falls silent becomes disconnected, not down: its
  allocations are unknown, not lost. If it returns in time they are kept, and their replacements
  stopped. Twice the evaluations for the same machines, and twice the reason to shed.
EOT

sources = ["https://developer.hashicorp.com/nomad/docs/job-specification/group#max_client_disconnect", "https://github.com/hashicorp/nomad/pull/25923"]

example {
  chart = "nodes"
  variables = {
    nodes = 100
  }

  reading = <<-EOT
    Instead of down the nodes become disconnected, but for those that ran nothing to keep: their allocations count as unknown, and
    replacements are placed beside them. When the clients return the nodes pass through initializing to
    ready, the originals are kept and the replacements stopped. Evaluations that
    were put off until the allocations would be lost keep the state from being quiet for as long,
    though nothing is left for them to do.
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
