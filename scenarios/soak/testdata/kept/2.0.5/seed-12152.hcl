# Seven nodes of eight stayed initializing for a day, and evaluations of system jobs went on all the while.

title = "a random schedule of faults"

cluster {
  servers           = 1
  datacenter_filter = false

  raft {
    snapshot_threshold = 56
    trailing_logs      = 12
  }
}

fleet {
  report_allocations = true
  start_delay        = uniform("0s", "9.688s")
  stop_delay         = uniform("0s", "6.87s")

  group "clients1" {
    nodes      = 8
    datacenter = "dc1"
    racks      = 2

    resources {
      cpu    = 300
      memory = 480
      disk   = 150
    }
  }
}

job "system1" {
  type                  = "system"
  copies                = 2
  max_client_disconnect = "28.489s"
}

job "system2" {
  type                  = "system"
  copies                = 3
  max_client_disconnect = "2m44.16s"
  max_parallel          = 1
}

job "batch1" {
  type     = "batch"
  copies   = 3
  count    = 2
  priority = 85
}

job "sysbatch1" {
  type             = "sysbatch"
  copies           = 1
  every            = "3m31.464s"
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
  event "link_loss" {
    at   = "19.542s"
    for  = "36.581s"
    loss = 0.44
  }

  # 2
  event "pause_eval_broker" {
    at = "42.42s"
  }

  event "delete_evals" {
    at     = "42.42s"
    status = "pending"
  }

  event "evaluate_jobs" {
    at = "6m20s"
  }

  # 3
  event "partition" {
    at      = "55.652s"
    for     = "10.143s"
    one_way = false

    from {
      servers = [1]
    }

  }

  # 4
  event "poison_job" {
    at  = "1m0.743s"
    job = "system1"
    for = "8.948s"
  }

  # 5
  event "start_server" {
    at     = "1m4.016s"
    server = 1
  }

  # 6
  event "drain_nodes" {
    at                 = "1m17.115s"
    fraction           = 0.06
    ignore_system_jobs = true
    deadline           = "56.09s"
  }

  # 7
  event "partition" {
    at  = "1m32.241s"
    for = "29.395s"

    from {
      clients = 0.85
    }
  }

  # 8
  event "pause_server" {
    at     = "1m40.002s"
    server = 1
    for    = "5.987s"
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

  until "settled" {}
}
