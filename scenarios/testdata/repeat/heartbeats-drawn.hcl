title = "a random schedule of faults"

cluster {
  servers = 3
}

fleet {
  report_allocations = false

  group "clients" {
    nodes = 29

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
  copies = 3
  count  = 29
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
  event "partition" {
    at      = "1m16.781s"
    for     = "51.667s"
    one_way = true

    from {
      servers = [1]
    }

  }

  # 2
  event "set_eligibility" {
    at       = "1m17.427s"
    fraction = 0.25
    eligible = false
  }

  # 3
  event "scale_job" {
    at     = "1m23.203s"
    job    = "service"
    copies = 1
    count  = 4
  }

  # 4
  event "link_delay" {
    at      = "1m53.78s"
    for     = "1m10.316s"
    latency = "623ms"
    jitter  = "304ms"
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
