# A planner's question: how many clients may this cluster have, if the loss of a third of them must
# be dealt with in a minute? The threshold below says what "dealt with" means. A sweep looks for the
# number of clients at which that fails:
#
#   simctl sweep examples/capacity.hcl --vary nodes=400,800,1600 --slo 'phases.loss.recovery_s<=60'
#
# and another one for what would help:
#
#   simctl sweep examples/capacity.hcl --one-at-a-time --var nodes=1600 --vary schedulers=1,2,4,8 --vary system_jobs=5,10,20
#
# Look at recovery_s and queue_empty_s of the phase loss against nodes. With 800 clients it takes
# 36 s, with 1,600 of them 1:10, and 2:03 under the legacy broker.

title = "a third of the clients is lost: is that dealt with in a minute?"

# The releases before load shedding and with it; --broker current asks for today's.
brokers = ["legacy", "shedding"]

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 300
  min         = 3
}

variable "system_jobs" {
  description = "number of system jobs, which run on every node"
  type        = "integer"
  default     = 10
  min         = 1
}

variable "schedulers" {
  description = "scheduler workers of each server (num_schedulers)"
  type        = "integer"
  default     = 2
  min         = 1
  max         = 1024
}

variable "allocs_per_node" {
  description = "allocations of services for each client"
  type        = "integer"
  default     = 5
  min         = 0
}

cluster {
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

# Many small services rather than one large one: each of them is an evaluation of its own.
job "service" {
  type   = "service"
  copies = max(round(var.nodes / 10), 1)
  count  = 10 * var.allocs_per_node
}

phase "start" {
  event "start_clients" {}

  event "register_jobs" {
    at = "20s"
  }

  until "settled" {}
}

phase "loss" {
  event "stop_clients" {
    fraction = 1 / 3
  }

  until "recovered" {
    after_down = true
  }
}

threshold "dealt with in a minute" {
  metric = "phases.loss.recovery_s"
  broker = "shedding"
  max    = 60
}
