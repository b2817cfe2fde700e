# Clients without allocations are woken by changes on others: idle-clients.md.

title = "one allocation fails beside idle clients"

cluster {
  servers    = 1
  schedulers = 2
}

fleet {
  report_allocations = true

  group "clients" {
    nodes = 300
  }
}

job "web" {
  type  = "service"
  count = 10
}

phase "start" {
  event "start_clients" {}

  event "register_jobs" {
    at = "20s"
  }

  until "elapsed" {
    for = "60s"
  }
}

phase "fail" {
  event "fail_allocs" {
    job   = "web"
    count = 1
  }

  until "elapsed" {
    for = "60s"
  }
}
