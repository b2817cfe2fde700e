title = "snapshots of busy state machines"

cluster {
  raft {
    snapshot_threshold = 100
    snapshot_interval  = "1s"
    trailing_logs      = 50
  }
}

fleet {
  report_allocations = false

  group "clients" {
    nodes = 100
  }
}

job "system" {
  type   = "system"
  copies = 5
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

phase "storm" {
  event "slow_apply" {
    longer = "4ms"
  }
  event "stop_clients" {
    fraction = 1
  }

  until "settled" {}
}
