# Results of evaluations that no ack followed: the account of the log did not know of them.
title = "a random schedule of faults"

cluster {
  servers           = 3
  datacenter_filter = false

  raft {
    snapshot_threshold = 46
    trailing_logs      = 17
  }

  evaluations {
    nack_timeout          = "22.294s"
    subsequent_nack_delay = "1.32s"
    delivery_limit        = 1
  }
}

fleet {
  report_allocations = true

  group "clients1" {
    nodes      = 39
    datacenter = "dc1"
    racks      = 2
    class      = "class1"

    resources {
      cpu    = 640
      memory = 1024
      disk   = 320
    }
  }
}

job "system1" {
  type     = "system"
  copies   = 3
  priority = 8
}

job "system2" {
  type         = "system"
  copies       = 3
  priority     = 59
  max_parallel = 3
}

job "service1" {
  type                  = "service"
  copies                = 3
  count                 = 6
  max_client_disconnect = "38.135s"
}

job "service2" {
  type     = "service"
  copies   = 3
  count    = 13
  priority = 25
}

job "batch1" {
  type   = "batch"
  copies = 2
  count  = 9
}

job "batch2" {
  type   = "batch"
  copies = 3
  count  = 13
}

job "sysbatch1" {
  type   = "sysbatch"
  copies = 1
}

job "sysbatch2" {
  type                  = "sysbatch"
  copies                = 3
  max_client_disconnect = "1m29.778s"
  every                 = "2m45.995s"
  prohibit_overlap      = false
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
    at      = "13.61s"
    for     = "26.093s"
    one_way = false

    from {
      servers = ["follower"]
    }

  }

  # 2
  event "link_delay" {
    at      = "37.857s"
    for     = "7.782s"
    latency = "432ms"
    jitter  = "388ms"
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
