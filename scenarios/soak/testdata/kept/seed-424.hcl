# A batch allocation that was given up was reported complete later.
title = "a random schedule of faults"

cluster {
  servers           = 3
  datacenter_filter = false

  heartbeat {
    failover_ttl = "48.97s"
    grace        = "16.292s"
  }

  reaper {
    interval = "9.643s"
    batch    = 2
  }

  evaluations {
    nack_timeout          = "47.416s"
    subsequent_nack_delay = "11.45s"
    delivery_limit        = 2
  }
}

fleet {
  report_allocations = true
  start_delay        = uniform("0s", "5.144s")
  stop_delay         = uniform("0s", "13.01s")

  group "clients1" {
    nodes      = 2
    datacenter = "dc1"
    racks      = 1
    class      = "class2"

    resources {
      cpu    = 420
      memory = 672
      disk   = 210
    }
  }

  group "clients2" {
    nodes      = 3
    datacenter = "dc2"
    racks      = 3

    resources {
      cpu    = 420
      memory = 672
      disk   = 210
    }
  }
}

job "system1" {
  type                  = "system"
  copies                = 1
  max_client_disconnect = "1m55.858s"
}

job "system2" {
  type                  = "system"
  copies                = 2
  priority              = 15
  max_client_disconnect = "38.653s"
}

job "service1" {
  type         = "service"
  copies       = 2
  count        = 1
  priority     = 51
  datacenters  = ["dc2"]
  max_parallel = 1
}

job "service2" {
  type        = "service"
  copies      = 2
  count       = 2
  datacenters = ["dc2"]
}

job "batch1" {
  type             = "batch"
  copies           = 2
  count            = 1
  every            = "2m43.274s"
  prohibit_overlap = false
}

job "sysbatch1" {
  type                  = "sysbatch"
  copies                = 1
  max_client_disconnect = "2m32.546s"
}

job "sysbatch2" {
  type             = "sysbatch"
  copies           = 2
  priority         = 93
  every            = "2m8.139s"
  prohibit_overlap = false
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
  event "set_eligibility" {
    at       = "5.136s"
    group    = "clients2"
    eligible = false
  }

  # 2
  event "partition" {
    at      = "35.579s"
    for     = "5.612s"
    one_way = false

    from {
      servers = ["follower"]
    }

  }

  # 3
  event "update_job" {
    at  = "37.108s"
    job = "system2"
  }

  # 4
  event "partition" {
    at      = "1m10.529s"
    for     = "2.863s"
    one_way = true

    from {
      servers = [3]
    }

  }

  # 5
  event "scale_job" {
    at     = "1m21.609s"
    job    = "service2"
    copies = 1
    count  = 1
  }

  # 7
  event "link_delay" {
    at      = "1m41.545s"
    for     = "30.853s"
    latency = "445ms"
    jitter  = "281ms"

    from {
      servers = ["leader"]
    }

  }

  # 8
  event "partition" {
    at  = "1m50.82s"
    for = "47.053s"

    from {
      clients = 0.40
    }
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
