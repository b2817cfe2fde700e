title = "Two allocations fail, and one is never replaced"

cluster {
  servers    = 1
  schedulers = 1
}

fleet {
  report_allocations = true

  group "main" {
    nodes = 2
  }
}

job "web" {
  type  = "service"
  count = 2
}

phase "register" {
  event "start_clients" {}
  event "register_jobs" {
    at = "5s"
  }

  until "settled" {}
}

phase "fail" {
  event "fail_allocs" {
    job   = "web"
    count = 1
  }
  event "schedulers" {
    at         = "20s"
    per_server = 0
  }

  # The first allocation's replacement is due after 30 s.
  event "fail_allocs" {
    at    = "32s"
    job   = "web"
    count = 1
  }
  event "schedulers" {
    at         = "34s"
    per_server = 1
  }

  until "elapsed" {
    for = "10m"
  }
}
