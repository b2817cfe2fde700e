# The agents of all clients are upgraded, rack after rack, by a restart in place. Their allocations
# go on, and nobody needs to know if an agent is back before its heartbeat is missed. How long a
# restart may take is the question: compare
#
#   simctl scenario run examples/client-upgrade.hcl --var restart=1s
#   simctl scenario run examples/client-upgrade.hcl
#   simctl scenario run examples/client-upgrade.hcl --var restart=2m
#
# Look at nodes_down and evals_created of the phase upgrade. No client goes down in the first run,
# a fifth of them in the second, and all of them in the third, which needs twice the evaluations.
# An agent that is back registers again, so even the first run evaluates every job of each client.

title = "the agents of all clients are restarted, rack after rack"

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 300
  min         = 10
}

variable "restart" {
  description = "how long an agent is away"
  type        = "duration"
  default     = "8s"
}

variable "window" {
  description = "time within which all racks are upgraded"
  type        = "duration"
  default     = "20m"
}

cluster {
  schedulers = 2
}

fleet {
  group "clients" {
    nodes = var.nodes
    racks = 15
  }
}

job "agent" {
  type   = "system"
  copies = 8
}

job "service" {
  type   = "service"
  copies = 10
  count  = max(round(var.nodes / 5), 1)
}

# Each rack restarts once, at an instant of its own within the window.
behaviour "flap" "upgrade" {
  together = "rack"
  offset   = uniform("1s", var.window)
  down     = var.restart
  up       = "24h"
}

phase "start" {
  event "start_clients" {}

  event "register_jobs" {
    at = "20s"
  }

  until "settled" {}
}

phase "upgrade" {
  event "begin" {
    behaviour = "upgrade"
  }

  # Restarts that begin within the window need time to end.
  event "end" {
    at        = var.window
    behaviour = "upgrade"
  }

  until "settled" {
    for = "1m"
  }
}
