title = "a random schedule of faults"

cluster {
  servers = 3

  raft {
    snapshot_threshold = 104
    trailing_logs      = 9
  }
}

fleet {
  report_allocations = false

  group "clients" {
    nodes = 5

    resources {
      cpu    = 620
      memory = 992
      disk   = 310
    }
  }
}

job "system" {
  type   = "system"
  copies = 3
}

job "service" {
  type   = "service"
  copies = 1
  count  = 15
}

phase "register" {
  event "register_jobs" {}
  event "start_clients" {}

  until "registered" {}
}

phase "drain" {
  event "schedulers" {
    per_server = 3
  }

  until "recovered" {}
}

phase "faults" {
  # 1
  event "update_job" {
    at     = "36.483s"
    job    = "system"
    copies = 1
  }

  # 2
  event "flap_clients" {
    at       = "47.97s"
    fraction = 0.10
    down     = "59.346s"
    up       = "53.157s"
    times    = 4
  }

  # 3
  event "update_job" {
    at     = "1m20.371s"
    job    = "service"
    copies = 1
  }

  # 4
  event "slow_apply" {
    at      = "1m26.244s"
    for     = "9.863s"
    longer  = "44ms"
    servers = ["leader"]
  }

  # 5
  event "link_loss" {
    at   = "1m45.199s"
    for  = "4.495s"
    loss = 0.60
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
