# Room appeared while the broker was paused.
title = "a random schedule of faults"

cluster {
  servers = 1

  garbage {
    interval         = "20.931s"
    eval_threshold   = "1m19.505s"
    job_threshold    = "1m42.018s"
    time_granularity = "10s"
  }
}

fleet {
  report_allocations = false
  start_delay        = uniform("0s", "6.056s")
  stop_delay         = uniform("0s", "2.497s")

  group "clients1" {
    nodes      = 15
    datacenter = "dc1"
    racks      = 1
    class      = "class2"

    resources {
      cpu    = 380
      memory = 608
      disk   = 190
    }
  }

  group "clients2" {
    nodes      = 15
    datacenter = "dc2"
    racks      = 3

    resources {
      cpu    = 380
      memory = 608
      disk   = 190
    }
  }

  group "clients3" {
    nodes      = 15
    datacenter = "dc1"
    racks      = 1

    resources {
      cpu    = 380
      memory = 608
      disk   = 190
    }
  }
}

job "system1" {
  type     = "system"
  copies   = 2
  priority = 12
}

job "service1" {
  type   = "service"
  copies = 1
  count  = 15
}

job "service2" {
  type                  = "service"
  copies                = 2
  count                 = 22
  priority              = 99
  max_client_disconnect = "2m34.498s"
}

job "batch1" {
  type                  = "batch"
  copies                = 2
  count                 = 22
  priority              = 41
  max_client_disconnect = "21.227s"
  every                 = "1m5.706s"
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
  # 2
  event "partition" {
    at      = "40.073s"
    for     = "53.262s"
    one_way = false

    from {
      servers = [1]
    }

  }

  # 5
  event "pause_eval_broker" {
    at = "53.728s"
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
