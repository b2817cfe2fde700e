title = "an overloaded leader misses heartbeats that were sent, and makes itself more work"

about = <<-EOT
  The loop that operators of large clusters report: the servers fall behind, heartbeats are
  answered late, nodes that are well are marked down, every such node makes evaluations, and
  the servers fall further behind. A spell of slow state machines starts it; whether it goes
  on when the spell is over is what the brokers are compared by.
EOT

sources = ["https://github.com/hashicorp/nomad/pull/14474"]

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 1000
  min         = 1
}

variable "system_jobs" {
  description = "number of system jobs, which run on every node"
  type        = "integer"
  default     = 20
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
  description = "milliseconds by which each entry takes longer to apply, for a while"
  type        = "number"
  default     = 40
  min         = 0.001
}

variable "for_s" {
  description = "seconds for which applying is slow"
  type        = "number"
  default     = 600
  min         = 1
}

cluster {
  servers    = var.servers
  schedulers = var.schedulers
}

# Half a core for everything: what the machines are short of is processing time.
cost {
  cores = 1
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

phase "start" {
  event "register_jobs" {}
  event "start_clients" {}

  until "settled" {}
}

phase "spell" {
  event "slow_apply" {
    longer = seconds(var.longer_ms / 1000)
    for    = seconds(var.for_s)
  }

  event "stop_clients" {
    at       = "10s"
    fraction = 0.3
    for      = "60s"
  }

  until "settled" {}
}
