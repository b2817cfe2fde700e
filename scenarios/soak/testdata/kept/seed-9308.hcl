# A call to block an evaluation again failed, and the account took it for done.
title = "a random schedule of faults"

cluster {
  servers = 3

  heartbeat {
    failover_ttl = "45.378s"
    grace        = "4.748s"
  }
}

fleet {
  report_allocations = false
  start_delay        = uniform("0s", "1.186s")
  stop_delay         = uniform("0s", "9.913s")

  group "clients1" {
    nodes      = 11
    datacenter = "dc1"
    racks      = 2

    resources {
      cpu    = 120
      memory = 192
      disk   = 60
    }
  }

  group "clients2" {
    nodes      = 12
    datacenter = "dc1"
    racks      = 1

    resources {
      cpu    = 120
      memory = 192
      disk   = 60
    }
  }

  group "clients3" {
    nodes      = 12
    datacenter = "dc1"
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
  copies                = 2
  priority              = 23
  max_client_disconnect = "2m16.577s"
}

job "system2" {
  type     = "system"
  copies   = 3
  priority = 76
}

job "batch1" {
  type                  = "batch"
  copies                = 1
  count                 = 35
  max_client_disconnect = "36.429s"
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
  event "link_loss" {
    at   = "1m10.803s"
    for  = "23.081s"
    loss = 0.33

    from {
      servers = ["follower"]
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
