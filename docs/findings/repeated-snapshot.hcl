# A server's log begins right behind the snapshot that it installs: repeated-snapshot.md.

title = "a server installs a snapshot again and again"

cluster {
  servers = 3

  raft {
    snapshot_threshold = 15
    snapshot_interval  = "20.154s"
    trailing_logs      = 8
  }

  reaper {
    interval = "6.301s"
    batch    = 44
  }

  garbage {
    interval         = "24.878s"
    eval_threshold   = "44.008s"
    job_threshold    = "1m2.328s"
    time_granularity = "10s"
  }
}

fleet {
  report_allocations = true

  group "clients1" {
    nodes      = 2
    datacenter = "dc1"
    racks      = 3

    resources {
      cpu    = 460
      memory = 736
      disk   = 230
    }
  }

  group "clients2" {
    nodes      = 3
    datacenter = "dc1"
    racks      = 3

    resources {
      cpu    = 460
      memory = 736
      disk   = 230
    }
  }

  group "clients3" {
    nodes      = 3
    datacenter = "dc1"
    racks      = 2

    resources {
      cpu    = 460
      memory = 736
      disk   = 230
    }
  }
}

job "batch1" {
  type   = "batch"
  copies = 1
  count  = 24
}

job "batch2" {
  type     = "batch"
  copies   = 2
  count    = 3
  priority = 89
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
  event "schedulers" {
    at         = "6.379s"
    per_server = 4
  }

  # 3
  event "partition" {
    at      = "17.05s"
    for     = "35.845s"
    one_way = true

    from {
      servers = ["follower"]
    }

  }

  # 6
  event "fail_allocs" {
    at     = "34.56s"
    job    = "batch1"
    copies = 1
    count  = 10
  }

  # 7
  event "link_delay" {
    at      = "36.642s"
    for     = "51.888s"
    latency = "454ms"
    jitter  = "228ms"

    from {
      servers = ["leader"]
    }

  }

  # 10
  event "kill_server" {
    at     = "48.554s"
    server = 3
    for    = "35.191s"
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
