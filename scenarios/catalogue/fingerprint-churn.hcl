title = "nodes register repeatedly because something about them changes"

about = <<-EOT
  A fingerprinter that keeps finding something new makes its node register again, with one Raft
  entry each time. System jobs might be feasible on the node now, so each registration also
  creates an evaluation for each of the node's jobs. No node went down, and nothing needs to be
  placed.
EOT

sources = ["https://github.com/hashicorp/nomad/pull/14673"]

example {
  chart = "raft"
  variables = {
    nodes = 100
  }

  reading = <<-EOT
    The log grows steadily though no node goes down: a registration for each change, and an evaluation
    for each job on the node. The changes come one at a time and the cluster keeps up, so two
    evaluations of a job never wait together. The remedy was to make fewer changes, not to shed
    evaluations.
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
  default     = 10
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
  }
}

job "system" {
  type   = "system"
  copies = var.system_jobs
}

behaviour "fingerprint" "drivers" {
  every = exponential("5m")
}

phase "start" {
  event "register_jobs" {}
  event "start_clients" {}

  until "settled" {}
}

phase "churn" {
  event "begin" {
    behaviour = "drivers"
  }

  until "elapsed" {
    for = "20m"
  }
}

phase "recover" {
  event "end" {
    behaviour = "drivers"
  }

  until "settled" {}
}
