title = "clients flap until a million evaluations have been made, and then stop flapping"

about = <<-EOT
  The incident that load shedding was written for: a network that comes and goes makes all
  nodes miss heartbeats and return, over and over, and every change of a node makes an
  evaluation for each of its jobs. The old broker works through every one of them, in order,
  long after they have ceased to matter.
EOT

sources = ["https://www.hashicorp.com/blog/load-shedding-in-the-nomad-eval-broker", "https://github.com/hashicorp/nomad/pull/14621"]

example {
  chart = "pending"
  variables = {
    nodes       = 300
    evaluations = 30000
  }

  reading = <<-EOT
    Each peak is the network going or coming back: all nodes expire within seconds of each other, and
    return within seconds, and that is a backlog of an evaluation for every job on every node. The
    old broker is still busy with it long after the network has changed again; the new one keeps the
    newest of each job and is done at once. Compare how many evaluations were created with how many
    were processed: what was not processed was canceled, and the invariants say that nothing was
    missed by it.

    The example is small: 14 s of processor time and 0.8 GB for the old broker, 13 s and 0.7 GB for the
    new one. The default, with both side by side on two cores that had other work, too, took 41 minutes,
    and 1,266 s and 8.5 GB against 665 s and 8.5 GB: 1,044,000 evaluations of 2,000 nodes. When the flapping
    ended, the old broker had 931,000 of them pending, and needed six hours of virtual time and 982,000 Raft
    entries to work them off; the new one was calm after 43 s, and had processed 13,800 evaluations in all.
    A million evaluations of 5,000 nodes are for larger machines: 7 GB were in use when the old broker
    began to work them off.
  EOT
}

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 2000
  min         = 1
}

variable "system_jobs" {
  description = "number of system jobs, which run on every node"
  type        = "integer"
  default     = 20
  min         = 1
  max         = 10000
}

variable "evaluations" {
  description = "how many evaluations are made before the flapping ends"
  type        = "integer"
  default     = 1000000
  min         = 1
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

behaviour "flap" "network" {
  together = "group"
  up       = uniform("1m", "3m")
  down     = uniform("45s", "90s")
}

phase "start" {
  event "register_jobs" {}
  event "start_clients" {}

  until "settled" {}
}

phase "flap" {
  event "begin" {
    behaviour = "network"
  }

  until "evals" {
    at_least = var.evaluations
  }
}

phase "recover" {
  event "end" {
    behaviour = "network"
  }

  until "settled" {}
}
