title = "new versions of system jobs are rolled out, in peace and while a few nodes flap"

about = <<-EOT
  A rolling update of a system job replaces a few allocations and leaves an evaluation that waits
  for half a minute before it replaces the next few. Nothing but that wait keeps the steps apart:
  any other evaluation of the job that comes meanwhile replaces a few allocations as well, and
  leaves a waiting evaluation of its own. A node that comes or goes is enough to start such a second
  chain of steps, and all chains go on side by side until every node has the new version.
EOT

sources = ["https://github.com/hashicorp/nomad/issues/12109"]

example {
  chart     = "raft"
  variables = {}

  reading = <<-EOT
    In the phase in_peace the log grows in even steps, one every 30 s: each job replaces five
    allocations at a time. The phase flapping begins like that. Then the first of a few nodes goes
    down, and from there on the steps come at any time and overlap: every job is done in a fraction
    of the time, because far more than max_parallel of its allocations are replaced in half a
    minute. The operator who asked for five at a time does not get them. Shedding changes nothing
    about it, since the evaluations come one at a time and hardly any of them waits for another.

    Nomad 1.11 gave system jobs deployments. Under such a release the next allocations are replaced
    when those before are healthy, and a version after one whose deployment failed has none, so that
    its rollout stalls (nomad #28538).
  EOT
}

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 100
  min         = 1
}

variable "system_jobs" {
  description = "number of system jobs, which run on every node"
  type        = "integer"
  default     = 5
  min         = 1
  max         = 1000
}

variable "max_parallel" {
  description = "allocations of a job that one step of a rollout replaces; 0 means all at once"
  type        = "integer"
  default     = 5
  min         = 0
}

variable "flapping" {
  description = "share of the nodes that flap during the second rollout"
  type        = "number"
  default     = 0.05
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
  report_allocations = true
  start_delay        = uniform("1s", "5s")

  group "clients" {
    nodes = var.nodes
  }
}

job "system" {
  type         = "system"
  copies       = var.system_jobs
  max_parallel = var.max_parallel
}

behaviour "flap" "nodes" {
  share = var.flapping
  up    = uniform("1m", "3m")
  down  = uniform("30s", "1m")
}

phase "start" {
  event "register_jobs" {}
  event "start_clients" {}

  until "settled" {}
}

phase "in_peace" {
  event "update_job" {
    job = "system"
  }

  until "settled" {}
}

phase "flapping" {
  event "begin" {
    behaviour = "nodes"
  }

  event "update_job" {
    at  = "10s"
    job = "system"
  }

  until "recovered" {}
}

phase "recover" {
  event "end" {
    behaviour = "nodes"
  }

  until "settled" {}
}
