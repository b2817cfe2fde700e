title = "Clients are out of reach, and back before their allocations are lost"

cluster {
  servers    = 1
  schedulers = 2
}

fleet {
  report_allocations = true
  group "clients" {
    nodes = 20
  }
}

job "service" {
  type                  = "service"
  copies                = 4
  count                 = 8
  max_client_disconnect = "3m"
}

phase "start" {
  event "start_clients" {}
  event "register_jobs" {
    at = "5s"
  }
  until "elapsed" {
    for = "25s"
  }
}

phase "disconnect" {
  event "stop_clients" {
    fraction = 0.3
  }
  until "elapsed" {
    for = "55s"
  }
}

phase "reconnect" {
  event "resume_clients" {}
  until "elapsed" {
    for = "200s"
  }
}
