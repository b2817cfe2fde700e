title = "clients report allocations while a phase ends"

cluster {
  servers = 1

  raft {
    snapshot_threshold = 33
    snapshot_interval  = "21.345s"
    trailing_logs      = 6
  }
}

fleet {
  report_allocations = true
  start_delay        = uniform("0s", "6.697s")
  stop_delay         = uniform("0s", "7.999s")

  group "clients1" {
    nodes      = 10
    datacenter = "dc1"
    racks      = 2
    class      = "class1"

    resources {
      cpu    = 360
      memory = 576
      disk   = 180
    }
  }

  group "clients2" {
    nodes      = 11
    datacenter = "dc2"
    racks      = 2

    resources {
      cpu    = 360
      memory = 576
      disk   = 180
    }
  }
}

job "system1" {
  type     = "system"
  copies   = 3
  priority = 8
}

job "batch1" {
  type             = "batch"
  copies           = 3
  count            = 10
  priority         = 98
  every            = "3m20.798s"
  prohibit_overlap = true
}

job "sysbatch1" {
  type        = "sysbatch"
  copies      = 3
  priority    = 60
  datacenters = ["dc1"]
}

job "sysbatch2" {
  type     = "sysbatch"
  copies   = 1
  priority = 79
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

phase "after" {
  until "elapsed" {
    for = "1s"
  }
}
