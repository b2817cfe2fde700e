# An event that was tried again was overtaken by one after it.
title = "a random schedule of faults"

cluster {
  servers = 3

  raft {
    snapshot_threshold = 102
    trailing_logs      = 41
  }

  evaluations {
    nack_timeout          = "14.669s"
    subsequent_nack_delay = "8.693s"
    delivery_limit        = 4
  }
}

fleet {
  report_allocations = true

  group "clients1" {
    nodes      = 8
    datacenter = "dc1"
    racks      = 3

    resources {
      cpu    = 200
      memory = 320
      disk   = 100
    }
  }

  group "clients2" {
    nodes      = 8
    datacenter = "dc2"
    racks      = 1

    resources {
      cpu    = 200
      memory = 320
      disk   = 100
    }
  }

  group "clients3" {
    nodes      = 9
    datacenter = "dc1"
    racks      = 1
    class      = "class2"

    resources {
      cpu    = 200
      memory = 320
      disk   = 100
    }
  }
}

job "system1" {
  type         = "system"
  copies       = 1
  priority     = 97
  max_parallel = 4
}

job "service1" {
  type     = "service"
  copies   = 2
  count    = 9
  priority = 22
}

job "sysbatch1" {
  type                  = "sysbatch"
  copies                = 1
  priority              = 66
  max_client_disconnect = "47.799s"
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
  event "fail_allocs" {
    at     = "1m0.407s"
    job    = "service1"
    copies = 1
    count  = 4
  }

  # 2
  event "partition" {
    at  = "1m7.304s"
    for = "16.149s"

    from {
      clients = 0.72
    }
  }

  # 3
  event "link_delay" {
    at      = "1m18.611s"
    for     = "15.2s"
    latency = "168ms"
    jitter  = "386ms"

    from {
      servers = ["leader"]
    }

  }

  # 4
  event "set_eligibility" {
    at       = "1m24.194s"
    fraction = 0.33
    eligible = false
  }

  # 5
  event "end_drains" {
    at    = "1m30.626s"
    group = "clients3"
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
