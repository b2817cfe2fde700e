# A scenario for simctl: a cluster, its clients and jobs, and what happens to them, phase by
# phase. Change it, check it and run it:
#
#   simctl scenario validate FILE
#   simctl scenario run FILE
#   simctl scenario run FILE --var nodes=500
#
# simctl runs it under every broker, compares them and draws charts. Every word of a file is
# explained in docs/scenario-language.md; simctl scenario show NAME prints larger examples.

title = "a tenth of the clients falls silent, and comes back"

# A variable can be set for each run: --var nodes=500.
variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 100
  min         = 1
}

variable "silent" {
  description = "share of the clients that fall silent"
  type        = "number"
  default     = 0.1
  min         = 0
  max         = 1
}

# Three servers, with two scheduler workers each.
cluster {
  servers    = 3
  schedulers = 2
}

fleet {
  group "all" {
    nodes = var.nodes
  }
}

# A system job runs on every client.
job "agent" {
  type   = "system"
  copies = 5
}

# A service job runs as often as count says.
job "web" {
  type  = "service"
  count = var.nodes
}

# A phase has events, and ends when its condition (until) holds and its events are over.
phase "start" {
  event "register_jobs" {}
  event "start_clients" {}

  until "settled" {}
}

phase "silence" {
  event "stop_clients" {
    fraction = var.silent
    for      = "3m" # then they start again
  }

  # Every evaluation is processed, and the servers know every client as it is.
  until "settled" {}
}

# A threshold is a demand on a figure of the run. If it does not hold, the exit code is 3.
threshold "recovers within ten minutes" {
  metric = "phases.silence.recovery_s"
  broker = "shedding"
  max    = 600
}
