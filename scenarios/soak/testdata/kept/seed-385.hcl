# There was no room for a new version, and the old one stayed.
title = "a random schedule of faults"

cluster {
  servers = 3

  raft {
    snapshot_threshold = 52
    trailing_logs      = 29
  }

  reaper {
    interval = "4.922s"
    batch    = 46
  }
}

fleet {
  report_allocations = false

  group "clients1" {
    nodes      = 6
    datacenter = "dc1"
    racks      = 3
    class      = "class1"

    resources {
      cpu    = 100
      memory = 160
      disk   = 50
    }
  }

  group "clients2" {
    nodes      = 7
    datacenter = "dc2"
    racks      = 3
    class      = "class2"

    resources {
      cpu    = 100
      memory = 160
      disk   = 50
    }
  }
}

job "system1" {
  type         = "system"
  copies       = 3
  max_parallel = 2
}

job "service1" {
  type        = "service"
  copies      = 1
  count       = 4
  datacenters = ["dc1"]
}

job "service2" {
  type        = "service"
  copies      = 2
  count       = 2
  datacenters = ["dc1"]
}

job "sysbatch1" {
  type                  = "sysbatch"
  copies                = 1
  priority              = 18
  max_client_disconnect = "1m24.728s"
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

  until "recovered" {}
}

phase "faults" {
  # 1
  event "update_job" {
    at  = "2.304s"
    job = "service2"
  }

  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }

  until "settled" {}
}
