# Batch allocations ended after they had been pushed out by those that came back.
title = "a random schedule of faults"

cluster {
  servers           = 3
  datacenter_filter = false
}

fleet {
  report_allocations = true

  group "clients1" {
    nodes      = 15
    datacenter = "dc1"
    racks      = 1

    resources {
      cpu    = 220
      memory = 352
      disk   = 110
    }
  }

  group "clients2" {
    nodes      = 16
    datacenter = "dc1"
    racks      = 2

    resources {
      cpu    = 220
      memory = 352
      disk   = 110
    }
  }

  group "clients3" {
    nodes      = 16
    datacenter = "dc1"
    racks      = 1

    resources {
      cpu    = 220
      memory = 352
      disk   = 110
    }
  }
}

job "system1" {
  type   = "system"
  copies = 1
}

job "batch1" {
  type                  = "batch"
  copies                = 1
  count                 = 15
  priority              = 74
  max_client_disconnect = "1m1.52s"
}

job "batch2" {
  type                  = "batch"
  copies                = 1
  count                 = 11
  max_client_disconnect = "19.486s"
  every                 = "1m21.729s"
  prohibit_overlap      = false
}

job "sysbatch1" {
  type   = "sysbatch"
  copies = 1
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
  # 5
  event "stop_clients" {
    at       = "1m7.156s"
    fraction = 0.27
    for      = "13.531s"
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
