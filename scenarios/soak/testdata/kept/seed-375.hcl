# A server that lagged behind did not know a node.
title = "a random schedule of faults"

cluster {
  servers = 3

  raft {
    snapshot_threshold = 22
    trailing_logs      = 26
  }

  heartbeat {
    failover_ttl = "1m16.43s"
    grace        = "2.116s"
  }
}

fleet {
  report_allocations = true
  start_delay        = uniform("0s", "4.644s")
  stop_delay         = uniform("0s", "6.192s")

  group "clients1" {
    nodes      = 28
    datacenter = "dc1"
    racks      = 1

    resources {
      cpu    = 80
      memory = 128
      disk   = 40
    }
  }
}

job "system1" {
  type   = "system"
  copies = 2
}

job "sysbatch1" {
  type             = "sysbatch"
  copies           = 3
  every            = "1m22.27s"
  prohibit_overlap = true
}

job "sysbatch2" {
  type   = "sysbatch"
  copies = 2
}

behaviour "churn" "behaviour1" {
  every = uniform("1s", "1m6.491s")
  share = 0.16
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
  # 1
  event "skew_clocks" {
    at      = "17.085s"
    for     = "33.106s"
    clients = 0.13
    rate    = 0.31
  }

  # 2
  event "fail_allocs" {
    at     = "23.274s"
    job    = "system1"
    copies = 1
    count  = 1
  }

  # 3
  event "update_job" {
    at  = "33.618s"
    job = "sysbatch2"
  }

  # 4
  event "stop_job" {
    at     = "1m2.309s"
    job    = "sysbatch1"
    copies = 1
    purge  = false
  }

  # 5
  event "pause_leader" {
    at  = "1m3.655s"
    for = "43.555s"
  }

  # 6
  event "resume_clients" {
    at = "1m5.492s"
  }

  # 7
  event "pause_server" {
    at     = "1m33.839s"
    server = "follower"
    for    = "39.708s"
  }

  # 8
  event "stop_job" {
    at     = "1m40.951s"
    job    = "sysbatch2"
    copies = 1
    purge  = false
  }

  # 9
  event "drain_nodes" {
    at                 = "1m44.177s"
    group              = "clients1"
    ignore_system_jobs = true
    deadline           = "2m50.119s"
  }

  # 10
  event "begin" {
    at        = "1m59.551s"
    behaviour = "behaviour1"
  }

  event "end" {
    at        = "3m2.775s"
    behaviour = "behaviour1"
    leave     = false
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
