# The end of a drain made a node eligible, and nobody who waited for room was told.
title = "a random schedule of faults"

cluster {
  servers           = 3
  datacenter_filter = false

  heartbeat {
    failover_ttl = "1m52.672s"
    grace        = "9.27s"
  }

  reaper {
    interval = "3.701s"
    batch    = 50
  }
}

fleet {
  report_allocations = true

  group "clients1" {
    nodes      = 3
    datacenter = "dc1"
    racks      = 3
    class      = "class2"

    resources {
      cpu    = 220
      memory = 352
      disk   = 110
    }
  }

  group "clients2" {
    nodes      = 3
    datacenter = "dc1"
    racks      = 3

    resources {
      cpu    = 220
      memory = 352
      disk   = 110
    }
  }
}

job "system1" {
  type     = "system"
  copies   = 1
  priority = 56
}

job "system2" {
  type                  = "system"
  copies                = 1
  max_client_disconnect = "2m27.884s"
  max_parallel          = 3
}

job "service1" {
  type                  = "service"
  copies                = 2
  count                 = 1
  priority              = 82
  max_client_disconnect = "2m34.311s"
  max_parallel          = 4
}

job "service2" {
  type                  = "service"
  copies                = 2
  count                 = 2
  max_client_disconnect = "1m38.946s"
}

job "batch1" {
  type             = "batch"
  copies           = 1
  count            = 12
  every            = "1m58.374s"
  prohibit_overlap = true
}

job "sysbatch1" {
  type                  = "sysbatch"
  copies                = 3
  max_client_disconnect = "2m9.869s"
}

job "sysbatch2" {
  type   = "sysbatch"
  copies = 3
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
  event "drain_nodes" {
    at                 = "16ms"
    fraction           = 0.06
    ignore_system_jobs = false
    deadline           = "1m1.662s"
  }

  # 9
  event "end_drains" {
    at       = "1m52.69s"
    fraction = 0.09
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
