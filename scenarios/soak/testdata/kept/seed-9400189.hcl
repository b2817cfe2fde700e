# A job whose plans were refused too often waits a minute to be tried again, and was taken for one that knows of room.
title = "a random schedule of faults"

cluster {
  servers = 3

  raft {
    snapshot_threshold = 22
    snapshot_interval  = "33.2s"
    trailing_logs      = 7
  }
}

fleet {
  report_allocations = false

  group "clients1" {
    nodes      = 11
    datacenter = "dc1"
    racks      = 1

    resources {
      cpu    = 640
      memory = 1024
      disk   = 320
    }
  }

  group "clients2" {
    nodes      = 11
    datacenter = "dc2"
    racks      = 2

    resources {
      cpu    = 640
      memory = 1024
      disk   = 320
    }
  }
}

job "system1" {
  type   = "system"
  copies = 2
}

job "system2" {
  type     = "system"
  copies   = 3
  priority = 88
}

job "batch1" {
  type             = "batch"
  copies           = 2
  count            = 33
  every            = "53.226s"
  prohibit_overlap = false
}

job "batch2" {
  type             = "batch"
  copies           = 1
  count            = 22
  datacenters      = ["dc1"]
  every            = "2m10.776s"
  prohibit_overlap = true
}

job "sysbatch1" {
  type   = "sysbatch"
  copies = 1
}

job "sysbatch2" {
  type   = "sysbatch"
  copies = 2
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

  # 6
  event "partition" {
    at      = "1m26.468s"
    for     = "46.709s"
    one_way = false

    from {
      servers = [1]
    }

  }

  # 7
  event "pause_eval_broker" {
    at = "1m33.669s"
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
