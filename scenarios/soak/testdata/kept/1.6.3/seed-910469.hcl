# A sysbatch job gave up when its plans had been refused twice, and nothing looked at it again (docs/adr/0601).

title = "a random schedule of faults"

cluster {
  servers = 3

  raft {
    snapshot_threshold = 6
    snapshot_interval  = "7.717s"
    trailing_logs      = 11
  }

  evaluations {
    nack_timeout          = "57.556s"
    subsequent_nack_delay = "11.177s"
    delivery_limit        = 1
  }
}

fleet {
  report_allocations = true

  group "clients1" {
    nodes      = 19
    datacenter = "dc1"
    racks      = 3

    resources {
      cpu    = 80
      memory = 128
      disk   = 40
    }
  }

  group "clients2" {
    nodes      = 19
    datacenter = "dc2"
    racks      = 3

    resources {
      cpu    = 80
      memory = 128
      disk   = 40
    }
  }
}

job "system1" {
  type         = "system"
  copies       = 3
  max_parallel = 5
}

job "system2" {
  type     = "system"
  copies   = 2
  priority = 93
}

job "sysbatch1" {
  type   = "sysbatch"
  copies = 3
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
  event "link_delay" {
    at      = "16.42s"
    for     = "32.853s"
    latency = "214ms"
    jitter  = "26ms"

    from {
      servers = ["follower"]
    }

  }

  # 2
  event "drain_nodes" {
    at                 = "16.884s"
    fraction           = 0.11
    ignore_system_jobs = false
    deadline           = "4.565s"
  }

  # 4
  event "drain_nodes" {
    at                 = "50.178s"
    fraction           = 0.28
    ignore_system_jobs = true
    deadline           = "2.555s"
  }

  # 5
  event "pause_eval_broker" {
    at = "1m2.205s"
  }

  # 6
  event "link_loss" {
    at   = "1m31.884s"
    for  = "33.284s"
    loss = 0.11
  }

  # 8
  event "update_job" {
    at     = "1m48.723s"
    job    = "system2"
    copies = 1
  }

  # 9
  event "stop_clients" {
    at    = "1m50.533s"
    group = "clients2"
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
