# Batch allocations that moved or came back counted beside their replacements.
title = "a random schedule of faults"

cluster {
  servers = 5
}

fleet {
  report_allocations = true

  group "clients1" {
    nodes      = 16
    datacenter = "dc1"
    racks      = 2

    resources {
      cpu    = 440
      memory = 704
      disk   = 220
    }
  }

  group "clients2" {
    nodes      = 17
    datacenter = "dc1"
    racks      = 2

    resources {
      cpu    = 440
      memory = 704
      disk   = 220
    }
  }
}

job "batch1" {
  type                  = "batch"
  copies                = 1
  count                 = 22
  max_client_disconnect = "1m7.947s"
}

job "batch2" {
  type             = "batch"
  copies           = 1
  count            = 66
  every            = "3m36.263s"
  prohibit_overlap = false
}

job "sysbatch1" {
  type             = "sysbatch"
  copies           = 2
  every            = "54.865s"
  prohibit_overlap = true
}

job "sysbatch2" {
  type                  = "sysbatch"
  copies                = 2
  max_client_disconnect = "1m18.217s"
}

behaviour "flap" "behaviour1" {
  up    = normal("18.197s", "10s")
  down  = exponential("45.975s")
  share = 0.36
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
  event "begin" {
    at        = "214ms"
    behaviour = "behaviour1"
  }

  event "end" {
    at        = "4m55.698s"
    behaviour = "behaviour1"
    leave     = false
  }

  # 9
  event "stop_clients" {
    at       = "1m46.295s"
    fraction = 0.22
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
