# What is held for unknown counted beside what ended, as too many.
title = "a random schedule of faults"

cluster {
  servers = 3
}

fleet {
  report_allocations = true

  group "clients1" {
    nodes      = 43
    datacenter = "dc1"
    racks      = 1

    resources {
      cpu    = 840
      memory = 1344
      disk   = 420
    }
  }
}

job "system1" {
  type                  = "system"
  copies                = 1
  max_client_disconnect = "2m39.727s"
}

job "service1" {
  type         = "service"
  copies       = 3
  count        = 43
  priority     = 79
  max_parallel = 5
}

job "batch1" {
  type             = "batch"
  copies           = 1
  count            = 64
  every            = "2m11.931s"
  prohibit_overlap = false
}

job "batch2" {
  type                  = "batch"
  copies                = 1
  count                 = 129
  max_client_disconnect = "1m52.381s"
}

job "sysbatch1" {
  type             = "sysbatch"
  copies           = 2
  priority         = 83
  every            = "3m38.461s"
  prohibit_overlap = false
}

behaviour "churn" "behaviour1" {
  every = uniform("1s", "29.536s")
  share = 0.13
  group = "clients1"
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
  event "partition" {
    at      = "16.024s"
    for     = "35.337s"
    one_way = true

    from {
      servers = ["follower"]
    }

  }

  # 2
  event "partition" {
    at      = "29.273s"
    for     = "15.71s"
    one_way = false

    from {
      servers = [2]
    }

  }

  # 3
  event "kill_server" {
    at     = "32.226s"
    server = "follower"
    for    = "56.593s"
  }

  # 5
  event "pause_eval_broker" {
    at = "51.434s"
  }

  # 8
  event "begin" {
    at        = "1m25.73s"
    behaviour = "behaviour1"
  }

  event "end" {
    at        = "3m31.05s"
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
