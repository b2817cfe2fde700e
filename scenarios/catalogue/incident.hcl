title = "clients flap until a million evaluations have been made, and then stop flapping"

about = <<-EOT
  The incident that led to load shedding: an unstable network makes all nodes miss heartbeats
  and return, over and over, and every change of a node creates an evaluation for each of its
  jobs. The legacy broker works through all of them, in order, long after they have ceased to
  matter.
EOT

sources = ["https://www.hashicorp.com/blog/load-shedding-in-the-nomad-eval-broker", "https://github.com/hashicorp/nomad/pull/14621"]

example {
  chart = "pending"
  variables = {
    nodes       = 300
    evaluations = 30000
  }

  reading = <<-EOT
    Each peak is the network failing or coming back: all nodes expire within seconds of each other, or
    return within seconds, and leave a backlog of one evaluation for every job on every node. The
    legacy broker is still busy with it long after the network has changed again. The shedding broker
    keeps the newest evaluation of each job and finishes at once. Compare how many evaluations were
    created with how many were processed: the rest was canceled, and the invariants check that no work
    was missed.

    The example is small. The default makes 1,044,000 evaluations of 2,000 nodes. With both brokers side
    by side on two cores it took eight minutes: 466 s of processor time for the legacy
    broker, 236 s for the shedding broker, and 2.4 GB for each. When the flapping ended, the legacy
    broker had 932,000 evaluations pending, and needed six hours of virtual time and 991,000 Raft
    entries to work them off. The shedding broker was calm after 42 s, and had processed 13,700
    evaluations in all.
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
  description = "number of evaluations created before the flapping ends"
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
