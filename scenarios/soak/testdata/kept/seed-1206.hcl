# An old version of what was out of reach came back, and stayed.
title = "a random schedule of faults"

cluster {
  servers = 1

  heartbeat {
    failover_ttl = "1m33.974s"
    grace        = "8.804s"
  }
}

fleet {
  report_allocations = true

  group "clients1" {
    nodes      = 39
    datacenter = "dc1"
    racks      = 1

    resources {
      cpu    = 140
      memory = 224
      disk   = 70
    }
  }
}

job "system1" {
  type   = "system"
  copies = 1
}

job "batch1" {
  type                  = "batch"
  copies                = 1
  count                 = 39
  priority              = 55
  max_client_disconnect = "2m37.096s"
}

job "batch2" {
  type             = "batch"
  copies           = 2
  count            = 29
  every            = "46.04s"
  prohibit_overlap = true
}

job "sysbatch1" {
  type             = "sysbatch"
  copies           = 1
  priority         = 18
  every            = "1m39.905s"
  prohibit_overlap = true
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
  # 2
  event "scale_job" {
    at     = "1m24.548s"
    job    = "batch1"
    copies = 1
    count  = 15
  }

  # 3
  event "link_loss" {
    at   = "1m30.748s"
    for  = "11.576s"
    loss = 0.21

    from {
      servers = [1]
    }

  }

  # 4
  event "set_eligibility" {
    at       = "1m34.511s"
    fraction = 0.38
    eligible = true
  }

  # 5
  event "stick_applier" {
    at  = "1m37.94s"
    for = "17.721s"
  }

  # 6
  event "kill_server" {
    at     = "1m55.137s"
    server = 1
    for    = "35.573s"
  }

  # 7
  event "register_jobs" {
    at   = "1m57.78s"
    jobs = ["batch1"]
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
