# A datacenter is cut off: its machines run on, but none of them reaches a server. The servers
# are all in the first datacenter, so they keep their quorum. Services that say
# max_client_disconnect keep their unreachable allocations for that long; the others are placed
# again elsewhere, and the surplus is stopped when the link returns.
#
# Compare a partition that ends in time with one that does not:
#
#   simctl scenario run examples/datacenter-partition.hcl
#   simctl scenario run examples/datacenter-partition.hcl --var cut=20m
#
# Look at nodes_down (clients that run only patient services are disconnected, not down, see
# nodes.png), at evals_created of both phases, and at the recovery of the phase healed: the
# return of a datacenter is a storm of its own.

title = "a datacenter is cut off from the servers, and returns"

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 300
  min         = 10
}

variable "cut" {
  description = "how long the datacenter is cut off"
  type        = "duration"
  default     = "6m"
}

variable "patience" {
  description = "how long patient services keep allocations that they cannot reach"
  type        = "duration"
  default     = "15m"
}

locals {
  remote = round(var.nodes / 3)
}

cluster {
  schedulers = 2
}

fleet {
  report_allocations = true

  group "home" {
    nodes      = var.nodes - local.remote
    datacenter = "dc1"
  }

  # A client far away: each message takes 15 ms longer.
  group "remote" {
    nodes      = local.remote
    datacenter = "dc2"
    latency    = "15ms"
  }
}

job "agent" {
  type   = "system"
  copies = 5
}

job "patient" {
  type                  = "service"
  copies                = 5
  count                 = max(round(var.nodes / 5), 1)
  max_client_disconnect = var.patience
}

job "impatient" {
  type   = "service"
  copies = 5
  count  = max(round(var.nodes / 5), 1)
}

phase "start" {
  event "start_clients" {}

  event "register_jobs" {
    at = "20s"
  }

  until "settled" {}
}

phase "cut" {
  event "partition" {
    for = var.cut

    from {
      datacenter = "dc2"
    }
  }

  # The phase lasts as long as the fault does.
  until "elapsed" {
    for = var.cut
  }
}

phase "healed" {
  until "settled" {}
}

threshold "the return is over within ten minutes" {
  metric = "phases.healed.recovery_s"
  broker = "shedding"
  max    = 600
}
