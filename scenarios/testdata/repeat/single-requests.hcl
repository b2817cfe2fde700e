title = "single requests that are answered while more is to be sent"

cluster {
  servers = 3

  raft {
    snapshot_threshold = 43
    snapshot_interval  = "11.1s"
    trailing_logs      = 13
  }
}

fleet {
  report_allocations = true

  group "clients" {
    nodes = 28

    resources {
      cpu    = 880
      memory = 1408
      disk   = 440
    }
  }
}

job "system" {
  type                  = "system"
  copies                = 2
  max_client_disconnect = "1m19.026s"
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
  event "kill_leader" {
    at  = "21.619s"
    for = "5.951s"
  }

  event "kill_server" {
    at     = "1m1.998s"
    server = "follower"
    for    = "54.283s"
  }

  event "fill_disk" {
    at      = "1m25.663s"
    for     = "33.785s"
    servers = [2]
  }

  event "partition" {
    at  = "1m30.562s"
    for = "20.828s"

    from {
      clients = 0.47
    }
  }

  until "settled" {}
}
