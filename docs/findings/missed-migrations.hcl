title = "Half of the nodes drain, and some never end"

cluster {
  servers    = 1
  schedulers = 2
}

fleet {
  report_allocations = true

  group "main" {
    nodes = 30
  }
}

job "web" {
  type   = "service"
  count  = 5
  copies = 4

  resources {
    cpu    = 2200
    memory = 64
    disk   = 10
  }
}

phase "register" {
  event "register_jobs" {}
  event "start_clients" {}

  until "registered" {
    for = "8s"
  }
}

phase "drain" {
  event "drain_nodes" {
    fraction = 0.5
  }

  until "elapsed" {
    for = "70s"
  }
}
