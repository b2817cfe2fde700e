title = "a random schedule of faults"

cluster {
  servers = 3
}

fleet {
  report_allocations = false

  group "clients" {
    nodes = 31

    resources {
      cpu    = 260
      memory = 416
      disk   = 130
    }
  }
}

job "system" {
  type   = "system"
  copies = 1
}

job "service" {
  type   = "service"
  copies = 2
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
  event "stop_job" {
    at     = "10.873s"
    job    = "system"
    copies = 1
  }

  # 2
  event "kill_server" {
    at     = "21.68s"
    server = "leader"
    for    = "8.73s"
  }

  # 3
  event "link_delay" {
    at      = "22.723s"
    for     = "17.6s"
    latency = "236ms"
    jitter  = "225ms"

    from {
      servers = ["leader"]
    }

  }

  # 4
  event "stop_job" {
    at     = "57.882s"
    job    = "service"
    copies = 1
  }

  # 5
  event "pause_server" {
    at     = "1m34.389s"
    server = "leader"
    for    = "6.026s"
  }

  # 6
  event "pause_server" {
    at     = "1m56.552s"
    server = 2
    for    = "3.524s"
  }

  # 7
  event "stop_clients" {
    at       = "1m57.963s"
    fraction = 0.26
    for      = "8.909s"
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
