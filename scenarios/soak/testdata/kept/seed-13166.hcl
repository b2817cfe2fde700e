# A full disk let Raft delete the end of its log and not store what was to follow.
title = "a random schedule of faults"

cluster {
  servers = 3

  reaper {
    interval = "2.642s"
    batch    = 15
  }
}

fleet {
  report_allocations = true

  group "clients1" {
    nodes      = 12
    datacenter = "dc1"
    racks      = 2

    resources {
      cpu    = 460
      memory = 736
      disk   = 230
    }
  }

  group "clients2" {
    nodes      = 12
    datacenter = "dc2"
    racks      = 1

    resources {
      cpu    = 460
      memory = 736
      disk   = 230
    }
  }

  group "clients3" {
    nodes      = 12
    datacenter = "dc1"
    racks      = 2

    resources {
      cpu    = 460
      memory = 736
      disk   = 230
    }
  }
}

job "system1" {
  type   = "system"
  copies = 1
}

job "service1" {
  type   = "service"
  copies = 3
  count  = 12
}

job "service2" {
  type   = "service"
  copies = 1
  count  = 12
}

job "batch1" {
  type                  = "batch"
  copies                = 2
  count                 = 9
  priority              = 13
  max_client_disconnect = "30.384s"
}

job "sysbatch1" {
  type   = "sysbatch"
  copies = 3
}

job "sysbatch2" {
  type             = "sysbatch"
  copies           = 2
  datacenters      = ["dc1"]
  every            = "3m46.218s"
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
  event "drain_nodes" {
    at                 = "12.917s"
    fraction           = 0.11
    ignore_system_jobs = false
  }

  # 3
  event "schedulers" {
    at         = "41.74s"
    per_server = 1
  }

  # 4
  event "link_delay" {
    at      = "50.891s"
    for     = "7.646s"
    latency = "23ms"
    jitter  = "190ms"

    from {
      servers = [3]
    }

  }

  # 5
  event "drain_nodes" {
    at                 = "51.078s"
    fraction           = 0.26
    ignore_system_jobs = false
    deadline           = "2m0.849s"
  }

  # 6
  event "fill_disk" {
    at      = "57.163s"
    for     = "1m16.762s"
    servers = ["leader"]
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
