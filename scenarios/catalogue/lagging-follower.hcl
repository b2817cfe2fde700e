title = "one server's state machine falls behind, and its workers wait"

about = <<-EOT
  A worker may only plan on a state as new as the evaluation it holds. On a server that applies
  the log slowly it waits for up to five seconds and then gives the evaluation back: work that
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
    for up to five seconds, and give it back after that. What they hold is late for everybody: the
    tail of the processing times is theirs. Fewer evaluations to process means fewer of these waits.
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
  description = "milliseconds by which each entry takes the follower longer to apply"
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
