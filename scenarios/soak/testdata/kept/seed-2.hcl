# A sysbatch job waited for room on a node that went away meanwhile.
title = "a random schedule of faults"

cluster {
  servers = 3

  raft {
    snapshot_threshold = 37
    trailing_logs      = 35
  }

  heartbeat {
    failover_ttl = "46.167s"
    grace        = "2.849s"
  }
}

fleet {
  report_allocations = false

  group "clients1" {
    nodes      = 12
    datacenter = "dc1"
    racks      = 2
    class      = "class2"

    resources {
      cpu    = 120
      memory = 192
      disk   = 60
    }
  }

  group "clients2" {
    nodes      = 12
    datacenter = "dc2"
    racks      = 1

    resources {
      cpu    = 120
      memory = 192
      disk   = 60
    }
  }
}

job "system1" {
  type                  = "system"
  copies                = 3
  max_client_disconnect = "2m12.221s"
}

job "service1" {
  type                  = "service"
  copies                = 1
  count                 = 16
  datacenters           = ["dc1"]
  max_client_disconnect = "32.129s"
  max_parallel          = 5
}

job "sysbatch1" {
  type                  = "sysbatch"
  copies                = 2
  priority              = 20
  max_client_disconnect = "1m33.17s"
  every                 = "3m44.117s"
  prohibit_overlap      = false
}

job "sysbatch2" {
  type                  = "sysbatch"
  copies                = 3
  priority              = 24
  datacenters           = ["dc1"]
  max_client_disconnect = "2m2.027s"
  every                 = "1m25.217s"
  prohibit_overlap      = true
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
  event "stop_clients" {
    at       = "10.558s"
    fraction = 0.11
  }

  # 6
  event "partition" {
    at  = "1m51.166s"
    for = "7.142s"

    from {
      clients = 1.00
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
