# Nodes that were replaced are down under one broker and disconnected under the other.
title = "a random schedule of faults"

cluster {
  servers = 3

  raft {
    snapshot_threshold = 68
    trailing_logs      = 5
  }
}

fleet {
  report_allocations = true

  group "clients1" {
    nodes      = 9
    datacenter = "dc1"
    racks      = 1

    resources {
      cpu    = 280
      memory = 448
      disk   = 140
    }
  }

  group "clients2" {
    nodes      = 9
    datacenter = "dc2"
    racks      = 1
    class      = "class1"

    resources {
      cpu    = 280
      memory = 448
      disk   = 140
    }
  }

  group "clients3" {
    nodes      = 9
    datacenter = "dc1"
    racks      = 1

    resources {
      cpu    = 280
      memory = 448
      disk   = 140
    }
  }
}

job "system1" {
  type                  = "system"
  copies                = 1
  priority              = 27
  max_client_disconnect = "1m42.477s"
  max_parallel          = 5
}

job "system2" {
  type                  = "system"
  copies                = 1
  priority              = 32
  max_client_disconnect = "2m27.147s"
}

job "service1" {
  type   = "service"
  copies = 2
  count  = 10
}

job "batch1" {
  type        = "batch"
  copies      = 1
  count       = 20
  priority    = 28
  datacenters = ["dc1"]
}

behaviour "churn" "behaviour1" {
  every    = normal("6.746s", "10s")
  share    = 0.30
  together = "rack"
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
  # 3
  event "begin" {
    at        = "33.056s"
    behaviour = "behaviour1"
  }

  event "end" {
    at        = "4m12.869s"
    behaviour = "behaviour1"
    leave     = false
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
