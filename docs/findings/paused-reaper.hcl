# A worker crashes three times with one evaluation after the broker was paused once. Nothing
# marks the evaluation as failed any more, and its job waits until another server leads.
title = "an evaluation reaches its delivery limit after a pause of the broker"

variable "defect" {
  description = "whether a pause ends the reaper, as in Nomad"
  type        = "bool"
  default     = true
}

cluster {
  schedulers               = 1
  pause_ends_failed_reaper = var.defect

  evaluations {
    nack_timeout          = "5s"
    subsequent_nack_delay = "1s"
  }
}

fleet {
  group "all" {
    nodes = 10
  }
}

job "agent" {
  type = "system"
}

phase "start" {
  event "start_clients" {}
  until "registered" {}
}

phase "pause" {
  event "pause_eval_broker" {}
  event "resume_eval_broker" {
    at = "10s"
  }
  until "settled" {}
}

phase "crash" {
  event "crash_workers" {
    evals = 3
  }
  event "register_jobs" {}
  until "elapsed" {
    for = "30m"
  }
}
