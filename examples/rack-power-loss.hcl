# Two power feeds fail in the middle of a working day: racks go dark at the same instant, and
# come back minutes later, one by one, as somebody switches them on again. Meanwhile people
# work: services are scaled and updated all the time. How long do the lost allocations stay lost?
#
# Look at nodes_down and allocs_replaced_s of the phase outage: the clients of two racks, and the
# time until every service is whole again. The broker is hardly busy (peak_pending), so both brokers
# do equally well, and most of that time passes before the missed heartbeats are noticed.
# recovery_s of this phase is the last of people's changes, not the end of the outage.

title = "racks lose power in business hours, and return one by one"

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 400
  min         = 20
}

variable "dark" {
  description = "share of the racks that lose power"
  type        = "number"
  default     = 0.1
  min         = 0
  max         = 1
}

cluster {
  schedulers = 2
}

fleet {
  # Services report their health: without this, no deployment would end.
  report_allocations = true
  start_delay        = uniform("2s", "8s")

  group "floor" {
    nodes = var.nodes
    racks = 20
  }
}

# Log shippers and the like, on every client.
job "agent" {
  type   = "system"
  copies = 6
}

# Nobody changes these, except that some of them are scaled.
job "quiet" {
  type   = "service"
  copies = 20
  count  = max(round(var.nodes / 20), 1)
}

job "busy" {
  type         = "service"
  copies       = 10
  count        = 6
  max_parallel = 2
}

# A rack is a unit: its clients fall silent together. Each rack draws how long it stays dark;
# "up" keeps a rack that has returned from failing a second time.
behaviour "flap" "power" {
  together = "rack"
  share    = var.dark
  offset   = "2m"
  down     = uniform("8m", "14m")
  up       = "24h"
}

phase "morning" {
  event "start_clients" {}

  event "register_jobs" {
    at = "20s"
  }

  until "deployed" {}
}

phase "outage" {
  event "begin" {
    behaviour = "power"
  }

  # Business hours: every two minutes a new version of three services, and a change of scale up
  # and down.
  event "update_job" {
    job    = "busy"
    copies = 3
    times  = 8
    every  = "2m"
  }

  event "scale_job" {
    at     = "30s"
    job    = "quiet"
    copies = 2
    count  = 30
    times  = 8
    every  = "2m"
  }

  event "scale_job" {
    at     = "90s"
    job    = "quiet"
    copies = 2
    count  = 20
    times  = 8
    every  = "2m"
  }

  event "end" {
    at        = "18m"
    behaviour = "power"
  }

  # Deployments end, and the servers know every client as it is.
  until "deployed" {}
}

# A service that lost an allocation must have it back before anybody is paged a second time.
threshold "services are whole within five minutes" {
  metric = "phases.outage.allocs_replaced_s"
  broker = "shedding"
  max    = 300
}
