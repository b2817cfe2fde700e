# A sysbatch job was launched while nodes were away, which nobody looks at again.
title = "a random schedule of faults"

cluster {
  servers = 5

  raft {
    snapshot_threshold = 39
    trailing_logs      = 18
  }
}

fleet {
  report_allocations = true
  start_delay        = uniform("0s", "8.795s")
  stop_delay         = uniform("0s", "16.705s")

  group "clients1" {
    nodes      = 10
    datacenter = "dc1"
    racks      = 2

    resources {
      cpu    = 440
      memory = 704
      disk   = 220
    }
  }

  group "clients2" {
    nodes      = 11
    datacenter = "dc2"
    racks      = 3

    resources {
      cpu    = 440
      memory = 704
      disk   = 220
    }
  }
}

job "system1" {
  type     = "system"
  copies   = 2
  priority = 47
}

job "service1" {
  type                  = "service"
  copies                = 2
  count                 = 10
  max_client_disconnect = "34.95s"
}

job "batch1" {
  type             = "batch"
  copies           = 2
  count            = 2
  priority         = 88
  every            = "1m48.271s"
  prohibit_overlap = true
}

job "batch2" {
  type             = "batch"
  copies           = 2
  count            = 10
  datacenters      = ["dc1"]
  every            = "2m17.76s"
  prohibit_overlap = true
}

job "sysbatch1" {
  type             = "sysbatch"
  copies           = 1
  priority         = 51
  datacenters      = ["dc2"]
  every            = "3m49.554s"
  prohibit_overlap = false
}

job "sysbatch2" {
  type                  = "sysbatch"
  copies                = 3
  max_client_disconnect = "1m31.472s"
  every                 = "2m28.254s"
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
  # 5
  event "node_events" {
    at       = "1m12.123s"
    fraction = 0.87
    events   = 12
  }

  # 6
  event "partition" {
    at      = "1m12.526s"
    for     = "2.466s"
    one_way = true

    from {
      servers = ["follower"]
    }

  }

  # 7
  event "update_job" {
    at     = "1m17.56s"
    job    = "sysbatch1"
    copies = 1
  }

  # 8
  event "link_loss" {
    at   = "1m17.933s"
    for  = "1m0.757s"
    loss = 0.55
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
