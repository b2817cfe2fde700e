title = "racks that come and go for two minutes"

about = <<-EOT
  The built-in scenario flapping in small: ten racks lose their network for half a minute to a
  minute, again and again. Short enough to be run on real servers beside it, and often.
EOT

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 200
  min         = 1
}

variable "servers" {
  description = "number of servers"
  type        = "integer"
  default     = 3
  min         = 1
  max         = 15
}

variable "report_allocations" {
  description = "clients report their allocations"
  type        = "bool"
  default     = true
}

cluster {
  servers    = var.servers
  schedulers = 2
}

fleet {
  report_allocations = var.report_allocations

  group "clients" {
    nodes = var.nodes
    racks = 20
  }
}

job "system" {
  type   = "system"
  copies = 10
}

behaviour "flap" "racks" {
  together = "rack"
  share    = 0.5
  up       = uniform("20s", "60s")
  down     = uniform("30s", "60s")
}

phase "start" {
  event "register_jobs" {}
  event "start_clients" {}

  until "settled" {}
}

phase "flap" {
  event "begin" {
    behaviour = "racks"
  }

  until "elapsed" {
    for = "2m"
  }
}

phase "recover" {
  event "end" {
    behaviour = "racks"
  }

  until "elapsed" {
    for = "1m"
  }
}
