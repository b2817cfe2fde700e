title = "evaluations are deleted by page and by filter"

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 1000
}

variable "system_jobs" {
  description = "number of system jobs"
  type        = "integer"
  default     = 100
}

cluster {
  servers    = 3
  schedulers = 2
}

fleet {
  report_allocations = false

  group "clients" {
    nodes = var.nodes
  }
}

job "system" {
  type   = "system"
  copies = var.system_jobs
}

phase "backlog" {
  event "pause_eval_broker" {}

  event "register_jobs" {}

  event "start_clients" {
    at = "1s"
  }

  until "registered" {}
}

phase "by_page" {
  event "delete_evals" {
    by           = "page"
    triggered_by = "node-update"
    count        = 36390
  }

  until "elapsed" {
    for = "15s"
  }
}

phase "by_filter" {
  event "delete_evals" {
    by           = "filter"
    triggered_by = "node-update"
  }

  until "elapsed" {
    for = "15s"
  }
}

phase "drain" {
  event "resume_eval_broker" {}

  until "recovered" {}
}
