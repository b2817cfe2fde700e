title = "some racks come and go for half an hour"

about = <<-EOT
  Racks lose their network for about a minute, again and again, while the rest of the cluster
  works. All clients of a rack disappear and return together. Whether their evaluations pile up
  depends on how fast the servers notice and how fast the workers are.
EOT

sources = ["https://github.com/hashicorp/nomad/pull/14621"]

example {
  chart = "nodes"
  variables = {
    nodes = 200
  }

  reading = <<-EOT
    The steps are racks: all clients of a rack leave at once and return at once. But the servers notice
    over the ten to twenty seconds in which heartbeats expire, and clients stagger their return, so one
    event arrives spread out. A cluster of this size keeps up: two evaluations of a job hardly ever
    wait together, and both brokers process nearly all of them. Flapping alone is no storm. Add nodes
    and jobs to find where it becomes one.
  EOT
}

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 1000
  min         = 1
}

variable "system_jobs" {
  description = "number of system jobs, which run on every node"
  type        = "integer"
  default     = 10
  min         = 1
  max         = 10000
}

variable "racks" {
  description = "number of racks the clients stand in"
  type        = "integer"
  default     = 20
  min         = 1
  max         = 10000
}

variable "share" {
  description = "share of the racks that flap, 0 to 1"
  type        = "number"
  default     = 0.25
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
    racks = var.racks
  }
}

job "system" {
  type   = "system"
  copies = var.system_jobs
}

behaviour "flap" "racks" {
  together = "rack"
  share    = var.share
  up       = uniform("2m", "6m")
  down     = uniform("30s", "90s")
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
    for = "30m"
  }
}

phase "recover" {
  event "end" {
    behaviour = "racks"
  }

  until "settled" {}
}
