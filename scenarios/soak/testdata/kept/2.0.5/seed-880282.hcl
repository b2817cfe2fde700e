# A name occurred twice: a plan's replacement was taken, and the stop of what it replaces refused (docs/adr/0601).

title = "a random schedule of faults"

cluster {
  servers = 3

  raft {
    snapshot_threshold = 31
    snapshot_interval  = "37.478s"
    trailing_logs      = 6
  }
}

fleet {
  report_allocations = true
  start_delay        = uniform("0s", "1.347s")
  stop_delay         = uniform("0s", "19.583s")

  group "clients1" {
    nodes      = 13
    datacenter = "dc1"
    racks      = 2

    resources {
      cpu    = 200
      memory = 320
      disk   = 100
    }
  }

  group "clients2" {
    nodes      = 13
    datacenter = "dc2"
    racks      = 3

    resources {
      cpu    = 200
      memory = 320
      disk   = 100
    }
  }
}

job "service1" {
  type         = "service"
  copies       = 2
  count        = 39
  max_parallel = 4
}

job "batch1" {
  type             = "batch"
  copies           = 1
  count            = 26
  priority         = 39
  every            = "2m26.911s"
  prohibit_overlap = true
}

job "sysbatch1" {
  type             = "sysbatch"
  copies           = 2
  every            = "3m14.263s"
  prohibit_overlap = false
}

job "sysbatch2" {
  type                  = "sysbatch"
  copies                = 1
  priority              = 44
  max_client_disconnect = "57.169s"
  every                 = "1m11.588s"
  prohibit_overlap      = true
}

phase "register" {
  event "register_jobs" {}
  event "start_clients" {}

  until "registered" {}
}

phase "drain" {
  event "schedulers" {
    per_server = 2
  }

  until "recovered" {}
}

phase "faults" {
  timeout = "24h"

  # 1
  event "pause_eval_broker" {
    at = "13.867s"
  }

  # 4
  event "drain_nodes" {
    at                 = "1m15.487s"
    fraction           = 0.11
    ignore_system_jobs = true
    deadline           = "46.03s"
  }

  # 5
  event "crash_workers" {
    at    = "1m27.39s"
    evals = 1
  }

  event "drain_nodes" {
    at       = "6m15s"
    fraction = 1
    deadline = "1s"
  }

  event "end_drains" {
    at       = "7m"
    fraction = 1
  }

  event "evaluate_jobs" {
    at = "7m20s"
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
