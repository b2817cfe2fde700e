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
    holds (docs/findings/large-deletes.md). A few thousand are not enough to see it. Among a million
    a page of 7,278 stops the state machine for five seconds here, and for 20 to 30 s on the
    machines of Nomad's developers, where a batch of 728 takes 20 to 30 ms.

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
  quarter = ceil(var.nodes * var.system_jobs / 4)
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

  until "recovered" {}
}
