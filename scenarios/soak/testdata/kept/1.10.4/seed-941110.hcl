# A node became ready, and its leader went before it created evaluations: nobody was told (docs/adr/0601).

title = "a random schedule of faults"

cluster {
  servers = 3

  raft {
    snapshot_threshold = 49
    snapshot_interval  = "25.352s"
    trailing_logs      = 28
  }

  heartbeat {
    failover_ttl = "1m14.347s"
    grace        = "19.822s"
  }

  evaluations {
    nack_timeout          = "29.013s"
    subsequent_nack_delay = "11.762s"
    delivery_limit        = 2
  }
}

fleet {
  report_allocations = true

  group "clients1" {
    nodes      = 3
    datacenter = "dc1"
    racks      = 1

    resources {
      cpu    = 540
      memory = 864
      disk   = 270
    }
  }

  group "clients2" {
    nodes      = 3
    datacenter = "dc1"
    racks      = 3

    resources {
      cpu    = 540
      memory = 864
      disk   = 270
    }
  }

  group "clients3" {
    nodes      = 4
    datacenter = "dc1"
    racks      = 1

    resources {
      cpu    = 540
      memory = 864
      disk   = 270
    }
  }
}

job "system1" {
  type   = "system"
  copies = 2
}

job "system2" {
  type     = "system"
  copies   = 2
  priority = 64
}

job "service1" {
  type   = "service"
  copies = 2
  count  = 2
}

job "service2" {
  type     = "service"
  copies   = 3
  count    = 3
  priority = 95
}

job "batch1" {
  type             = "batch"
  copies           = 1
  count            = 5
  every            = "2m54.561s"
  prohibit_overlap = true
}

job "batch2" {
  type             = "batch"
  copies           = 2
  count            = 2
  priority         = 6
  every            = "1m4.308s"
  prohibit_overlap = false
}

job "sysbatch1" {
  type             = "sysbatch"
  copies           = 1
  priority         = 68
  every            = "2m29.59s"
  prohibit_overlap = false
}

job "sysbatch2" {
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

  # 5
  event "partition" {
    at  = "39.481s"
    for = "42.784s"

    from {
      clients = 0.24
    }
  }

  # 6
  event "slow_disk" {
    at     = "1m23.038s"
    for    = "58.717s"
    longer = "113ms"
  }

  # 9
  event "pause_server" {
    at     = "1m45.231s"
    server = "leader"
    for    = "14.773s"
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
