title = "one server's state machine falls behind, and its workers wait"

about = <<-EOT
  A worker may only plan on a state as new as the evaluation it holds. On a server that applies
  the log slowly, a worker waits for up to five seconds and then nacks the evaluation: work that
  the leader handed out is late, and some is done twice.
EOT

sources = ["https://github.com/hashicorp/nomad/pull/15523"]

example {
  chart = "latency"
  variables = {
    nodes = 100
  }

  reading = <<-EOT
    The workers of the slow server wait until its state has caught up with the evaluation they hold,
    for up to five seconds, and then nack it. These evaluations make up the tail of the processing
    times. Fewer evaluations to process mean fewer such waits.
  EOT
}

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 500
  min         = 1
}

variable "system_jobs" {
  description = "number of system jobs, which run on every node"
  type        = "integer"
  default     = 10
  min         = 1
  max         = 10000
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

variable "longer_ms" {
  description = "milliseconds added to the time the follower takes to apply an entry"
  type        = "number"
  default     = 50
  min         = 0.001
}

cluster {
  servers = var.servers
}

fleet {
  group "clients" {
    nodes = var.nodes
  }
}

job "system" {
  type   = "system"
  copies = var.system_jobs
}

phase "register" {
  event "register_jobs" {}
  event "start_clients" {}

  until "registered" {}
}

phase "drain" {
  event "slow_apply" {
    servers = ["follower"]
    longer  = seconds(var.longer_ms / 1000)
    for     = "5m"
  }

  event "schedulers" {
    per_server = var.schedulers
  }

  event "stop_clients" {
    at       = "5s"
    fraction = 0.2
    for      = "2m"
  }

  until "settled" {}
}
