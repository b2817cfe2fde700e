title = "services are scaled up and down, and clients report every change of an allocation"

about = <<-EOT
  Clients report what becomes of their allocations. A client gathers its changes and sends them at a
  tick of 200 ms, and the leader gathers what arrives within 50 ms into one entry. When services are
  scaled up and down, most entries of the log are such reports. Since 1.6.0 a client keeps what is
  not urgent for up to a second: that an allocation has begun to run, or is healthy. That one has
  ended is urgent.
EOT

sources = [
  "https://github.com/hashicorp/nomad/issues/9451",
  "https://github.com/hashicorp/nomad/pull/17354",
]

brokers = ["1.5.9", "1.6.2"]

example {
  chart     = "raft"
  variables = {}

  reading = <<-EOT
    The two releases differ in nothing else that matters here. The reports of clients are most of
    what the chart calls other. After each step up, when allocations begin to run, the newer release
    writes fewer of them, because a client that waits longer has more to say at a time. After each
    step down both write as many, because allocations that end are reported at the next tick.

    How many reports share an entry depends on how many arrive together: on the number of clients,
    on how fast allocations begin and end, on the leader's window (--batch-ms), and on the way by
    which reports reach the leader. With few allocations on each client (--allocs-per-node 2), a
    client has nothing to gather, and the longer wait saves little.
  EOT
}

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 50
  min         = 1
}

variable "service_jobs" {
  description = "number of service jobs"
  type        = "integer"
  default     = 10
  min         = 1
  max         = 10000
}

variable "allocs_per_node" {
  description = "allocations of service jobs for each client, when the jobs are scaled up"
  type        = "integer"
  default     = 40
  min         = 1
}

variable "times" {
  description = "how often the jobs are scaled up and down"
  type        = "integer"
  default     = 5
  min         = 1
}

variable "batch_ms" {
  description = "how long the leader gathers clients' reports for one entry, in milliseconds"
  type        = "number"
  default     = 50
  min         = 1
}

variable "servers" {
  description = "number of servers"
  type        = "integer"
  default     = 3
  min         = 1
  max         = 15
}

variable "schedulers" {
  description = "scheduler workers of each server (num_schedulers)"
  type        = "integer"
  default     = 2
  min         = 1
  max         = 1024
}

cluster {
  servers               = var.servers
  schedulers            = var.schedulers
  batch_update_interval = seconds(var.batch_ms / 1000)
}

fleet {
  report_allocations = true
  start_delay        = uniform("1s", "30s")
  stop_delay         = uniform("1s", "30s")

  group "clients" {
    nodes = var.nodes
  }
}

job "service" {
  type   = "service"
  copies = var.service_jobs
  count  = 1
}

phase "start" {
  event "start_clients" {}

  event "register_jobs" {
    at = "20s"
  }

  until "settled" {}
}

phase "scaling" {
  event "scale_job" {
    job   = "service"
    count = ceil(var.nodes * var.allocs_per_node / var.service_jobs)
    times = var.times
    every = "2m"
  }

  event "scale_job" {
    at    = "1m"
    job   = "service"
    count = 1
    times = var.times
    every = "2m"
  }

  until "recovered" {
    for = "1m"
  }
}
