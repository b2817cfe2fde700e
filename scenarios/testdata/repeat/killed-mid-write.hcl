title = "the leader is killed while entries are on their way into logs and state machines"

fleet {
  group "clients" {
    nodes = 100
  }
}

job "system" {
  type   = "system"
  copies = 10
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

  event "kill_leader" {
    at  = "500ms"
    for = "2m"
  }

  until "recovered" {}
}
