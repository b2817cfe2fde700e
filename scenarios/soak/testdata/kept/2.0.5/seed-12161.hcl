# Nodes held an allocation more than they have room for: a plan that had failed was written (docs/findings/overfilled-nodes.md).

title = "a random schedule of faults"

cluster {
  servers      = 3
  identity_ttl = "5m17.669s"

  raft {
    snapshot_threshold = 52
    trailing_logs      = 26
  }

  heartbeat {
    failover_ttl = "1m8.773s"
    grace        = "3.171s"
  }

  evaluations {
    nack_timeout          = "43.705s"
    subsequent_nack_delay = "3.579s"
    delivery_limit        = 3
  }
}

fleet {
  report_allocations = true

  group "clients1" {
    nodes      = 25
    datacenter = "dc1"
    racks      = 3

    resources {
      cpu    = 160
      memory = 256
      disk   = 80
    }
  }

  group "clients2" {
    nodes      = 25
    datacenter = "dc1"
    racks      = 3

    resources {
      cpu    = 160
      memory = 256
      disk   = 80
    }
  }
}

job "system1" {
  type         = "system"
  copies       = 3
  priority     = 69
  max_parallel = 3
}

job "service1" {
  type                  = "service"
  copies                = 1
  count                 = 12
  max_client_disconnect = "17.413s"
}

job "service2" {
  type                  = "service"
  copies                = 2
  count                 = 25
  max_client_disconnect = "24.997s"
  max_parallel          = 3
}

job "batch1" {
  type                  = "batch"
  copies                = 2
  count                 = 8
  max_client_disconnect = "1m54.866s"
}

job "sysbatch1" {
  type             = "sysbatch"
  copies           = 3
  every            = "2m6.964s"
  prohibit_overlap = false
}

behaviour "churn" "behaviour1" {
  every    = uniform("1s", "33.343s")
  share    = 0.23
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
  timeout = "24h"

  # 1
  event "resume_clients" {
    at = "30.598s"
  }

  # 2
  event "begin" {
    at        = "1m15.227s"
    behaviour = "behaviour1"
  }

  event "end" {
    at        = "4m17.978s"
    behaviour = "behaviour1"
    leave     = false
  }

  # 3
  event "end_drains" {
    at    = "1m58.341s"
    group = "clients2"
  }

  event "drain_nodes" {
    at       = "6m15s"
    fraction = 1
    deadline = "1s"
  }

  event "end_drains" {
    at       = "7m"
    fraction = 1
  }

  event "evaluate_jobs" {
    at = "7m20s"
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  event "stop_clients" {
    at = "6m2s"
  }

  event "resume_clients" {
    at = "6m12s"
  }

  until "elapsed" {
 for = "12m"
 }
}
