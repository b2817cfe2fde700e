title = "a backlog of evaluations is deleted by ID, by page, by filter and by garbage collection"

about = <<-EOT
  Operators who are faced with a backlog of evaluations that are of no use any more can pause the
  broker and delete them. Nomad 1.3 to 1.4.2 take IDs: one by one, or in pages of 7,278, each of
  which is an entry of the log. Since 1.4.3 the leader also takes a filter, and deletes what matches
  in batches of 728. Here each way deletes a quarter of a backlog. The broker goes on with the last
  quarter, and garbage collection deletes that once it is over: the way without an operator.
EOT

sources = [
  "https://github.com/hashicorp/nomad/pull/15117",
  "https://github.com/hashicorp/nomad/pull/13492",
  "https://github.com/hashicorp/nomad/issues/15858",
]

example {
  chart     = "raft"
  variables = {}

  reading = <<-EOT
    Every evaluation that is deleted by itself is a call and an entry: the steep line of the phase
    one_by_one. Pages and filters make so few entries that the line is flat. In the phase drain the
    old broker writes an entry for each evaluation that is left, as many as deleting them one by
    one, and the shedding broker hardly any: with shedding there is little left to delete
    evaluations for. Only evaluations are deleted that nodes called for, since one other evaluation
    of each job does what all of them are there for. Had those of the registered jobs gone, too,
    nothing would be placed.

    An entry that deletes more than some 1,250 evaluations also takes time with all that the state
    holds. A few thousand are not enough to see it. With --flaps 50 all clients go down and return
    fifty times before anybody works, and leave a million. Then a page of 7,278 stops the state
    machine for four seconds, and the filter is eight times as fast as pages
    (docs/findings/large-deletes.md has the table).

    What is not modelled: to list evaluations takes no time.
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

variable "flaps" {
  description = "how often all clients go down and return, with two more evaluations of each job for each client"
  type        = "integer"
  default     = 0
  min         = 0
  max         = 10000
  optional    = true
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

locals {
  quarter = ceil(var.nodes * var.system_jobs * (1 + 2 * var.flaps) / 4)
  ttl     = max(10, var.nodes / 50) # seconds between two heartbeats, at least
}

cluster {
  servers = var.servers
}

fleet {
  report_allocations = false # reports would hide the entries that this is about

  group "clients" {
    nodes = var.nodes
  }
}

job "system" {
  type   = "system"
  copies = var.system_jobs
}

phase "backlog" {
  event "register_jobs" {}
  event "start_clients" {}

  event "flap_clients" {
    at    = seconds(local.ttl + 30)
    down  = seconds(2 * local.ttl + 15) # until the last is down
    up    = seconds(local.ttl + 30)
    times = var.flaps
  }

  until "registered" {}
}

phase "one_by_one" {
  event "pause_eval_broker" {}

  event "delete_evals" {
    by           = "id"
    triggered_by = "node-update"
    count        = local.quarter
  }

  until "elapsed" {
    for = "5s"
  }
}

phase "by_page" {
  event "delete_evals" {
    by           = "page"
    triggered_by = "node-update"
    count        = local.quarter
  }

  until "elapsed" {
    for = "5s"
  }
}

phase "by_filter" {
  event "delete_evals" {
    by           = "filter"
    triggered_by = "node-update"
    count        = local.quarter
  }

  until "elapsed" {
    for = "5s"
  }
}

phase "drain" {
  event "resume_eval_broker" {}

  event "schedulers" {
    per_server = var.schedulers
  }

  until "recovered" {}
}

phase "collect" {
  event "collect_garbage" {}

  until "recovered" {
    for = seconds(5 + floor(local.quarter / 5000)) # a quarter of a million is gone after 38 s
  }
}
