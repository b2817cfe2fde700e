# A name occurred twice: the applier's kept state lacked an allocation, and its stop was left out of the plan.

title = "a random schedule of faults"

cluster {
  servers = 5

  raft {
    snapshot_threshold = 22
    snapshot_interval  = "25.573s"
    trailing_logs      = 18
  }

  evaluations {
    nack_timeout          = "45.932s"
    subsequent_nack_delay = "1.247s"
    delivery_limit        = 1
  }
}

fleet {
  report_allocations = true
  start_delay        = uniform("0s", "6.126s")
  stop_delay         = uniform("0s", "17.661s")

  group "clients1" {
    nodes      = 12
    datacenter = "dc1"
    racks      = 1
    class      = "class2"

    resources {
      cpu    = 620
      memory = 992
      disk   = 310
    }
  }

  group "clients2" {
    nodes      = 12
    datacenter = "dc2"
    racks      = 3

    resources {
      cpu    = 620
      memory = 992
      disk   = 310
    }
  }
}

job "system1" {
  type         = "system"
  copies       = 1
  max_parallel = 3
}

job "service1" {
  type         = "service"
  copies       = 1
  count        = 24
  max_parallel = 5
}

job "service2" {
  type   = "service"
  copies = 3
  count  = 8
}

job "batch1" {
  type             = "batch"
  copies           = 2
  count            = 36
  every            = "2m48.043s"
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
  timeout = "24h"

  # 1
  event "slow_disk" {
    at     = "4.889s"
    for    = "2.3s"
    longer = "127ms"
  }

  # 2
  event "update_job" {
    at    = "39.459s"
    job   = "batch1"
    count = 61
  }

  # 3
  event "scale_job" {
    at     = "48.608s"
    job    = "service2"
    copies = 1
    count  = 4
  }

  # 4
  event "link_delay" {
    at      = "52.016s"
    for     = "13.068s"
    latency = "609ms"
    jitter  = "307ms"

    from {
      servers = [2]
    }

  }

  # 6
  event "kill_server" {
    at     = "1m24.145s"
    server = "leader"
    for    = "56.783s"
  }

  # 7
  event "pause_server" {
    at     = "1m39.691s"
    server = "follower"
    for    = "15.341s"
  }

  # 8
  event "slow_disk" {
    at     = "1m45.131s"
    for    = "26.269s"
    longer = "347ms"
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
