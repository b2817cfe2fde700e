# Workers lost evaluations for garbage collection, which are nobody's that could be left pending.
title = "a random schedule of faults"

cluster {
  servers           = 5
  datacenter_filter = false

  garbage {
    interval         = "55.683s"
    eval_threshold   = "1m6.151s"
    job_threshold    = "36.598s"
    time_granularity = "10s"
  }
}

fleet {
  report_allocations = false

  group "clients1" {
    nodes      = 12
    datacenter = "dc1"
    racks      = 1

    resources {
      cpu    = 140
      memory = 224
      disk   = 70
    }
  }

  group "clients2" {
    nodes      = 13
    datacenter = "dc1"
    racks      = 3
    class      = "class2"

    resources {
      cpu    = 140
      memory = 224
      disk   = 70
    }
  }

  group "clients3" {
    nodes      = 13
    datacenter = "dc1"
    racks      = 3
    class      = "class2"

    resources {
      cpu    = 140
      memory = 224
      disk   = 70
    }
  }
}

job "system1" {
  type     = "system"
  copies   = 3
  priority = 60
}

job "system2" {
  type   = "system"
  copies = 1
}

job "service1" {
  type   = "service"
  copies = 2
  count  = 9
}

job "batch1" {
  type   = "batch"
  copies = 1
  count  = 19
}

job "batch2" {
  type   = "batch"
  copies = 2
  count  = 9
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
  event "schedulers" {
    at         = "6.283s"
    per_server = 3
  }

  # 4
  event "crash_workers" {
    at    = "35.82s"
    evals = 2
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
