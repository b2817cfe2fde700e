# An update was taken in part, and made names run twice.
title = "a random schedule of faults"

cluster {
  servers = 3

  raft {
    snapshot_threshold = 95
    trailing_logs      = 20
  }

  reaper {
    interval = "8.856s"
    batch    = 30
  }

  garbage {
    interval         = "37.682s"
    eval_threshold   = "21.571s"
    job_threshold    = "1m26.532s"
    time_granularity = "10s"
  }
}

fleet {
  report_allocations = true
  start_delay        = uniform("0s", "9.74s")
  stop_delay         = uniform("0s", "10.605s")

  group "clients1" {
    nodes      = 23
    datacenter = "dc1"
    racks      = 3

    resources {
      cpu    = 460
      memory = 736
      disk   = 230
    }
  }

  group "clients2" {
    nodes      = 24
    datacenter = "dc2"
    racks      = 1

    resources {
      cpu    = 460
      memory = 736
      disk   = 230
    }
  }
}

job "system1" {
  type     = "system"
  copies   = 3
  priority = 29
}

job "service1" {
  type     = "service"
  copies   = 2
  count    = 47
  priority = 32
}

job "service2" {
  type        = "service"
  copies      = 1
  count       = 47
  datacenters = ["dc2"]
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
  event "flap_clients" {
    at       = "12.62s"
    fraction = 0.32
    down     = "52.639s"
    up       = "46.738s"
    times    = 3
  }

  # 2
  event "collect_garbage" {
    at = "17.372s"
  }

  # 6
  event "update_job" {
    at  = "1m2.102s"
    job = "service1"
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
