title = "Nodes drain whose batch jobs do not end in time"

cluster {
  servers    = 1
  schedulers = 2
}

fleet {
  report_allocations = true
  group "staying" {
    nodes = 8
  }
  group "retired" {
    nodes = 4
  }
}

job "batch" {
  type   = "batch"
  copies = 3
  count  = 24
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

phase "drain" {
  event "drain_nodes" {
    group    = "retired"
    deadline = "20s"
  }
  until "elapsed" {
    for = "60s"
  }
}
