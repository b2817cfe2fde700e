# Jobs are registered, and then their nodes register one after the other. Plans for nodes that
# the applier's state does not have are refused, and tried again at once.
title = "nodes register while their jobs are planned"

variable "nodes" {
  description = "number of clients, half of them in each datacenter"
  type        = "integer"
  default     = 400
  min         = 2
}

cluster {
  schedulers = 2
}

fleet {
  report_allocations = true

  group "east" {
    nodes      = floor(var.nodes / 2)
    datacenter = "east"
  }

  group "west" {
    nodes      = floor(var.nodes / 2)
    datacenter = "west"
  }
}

job "agent" {
  type        = "system"
  copies      = 12
  datacenters = ["east", "west"]
}

job "web-east" {
  type        = "service"
  copies      = 30
  count       = ceil(var.nodes / 12)
  datacenters = ["east"]
}

job "web-west" {
  type        = "service"
  copies      = 30
  count       = ceil(var.nodes / 12)
  datacenters = ["west"]
}

phase "start" {
  event "register_jobs" {}
  event "start_clients" {}
  until "elapsed" { for = "90s" }
}
