title = "There is room at last, and nothing is placed there"

cluster {
  servers    = 1
  schedulers = 1
}

fleet {
  report_allocations = true

  group "stays" {
    nodes = 1
    resources {
      cpu    = 1000
      memory = 1000
      disk   = 10000
    }
  }
  group "leaves" {
    nodes = 1
    resources {
      cpu    = 1000
      memory = 1000
      disk   = 10000
    }
  }
  group "spare" {
    nodes = 1
    resources {
      cpu    = 1000
      memory = 1000
      disk   = 10000
    }
  }
}

job "web" {
  type                  = "service"
  count                 = 2
  max_client_disconnect = "4m"
  resources {
    cpu    = 800
    memory = 800
    disk   = 10
  }
}

phase "register" {
  event "start_clients" {}
  event "set_eligibility" {
    at       = "12s"
    group    = "spare"
    eligible = false
  }
  event "register_jobs" {
    at = "15s"
  }
  until "elapsed" {
    for = "20s"
  }
}

# Nobody else has room for what the client runs.
phase "away" {
  event "stop_clients" {
    group = "leaves"
  }
  until "elapsed" {
    for = "75s"
  }
}

# Now there is room, and a blocked evaluation is tried again, if there is one.
phase "room" {
  event "set_eligibility" {
    group    = "spare"
    eligible = true
  }
  until "elapsed" {
    for = "60s"
  }
}

# The allocation is lost at last.
phase "lost" {
  until "elapsed" {
    for = "150s"
  }
}
