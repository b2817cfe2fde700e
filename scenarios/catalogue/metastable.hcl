title = "an overloaded leader hears heartbeats late, and causes itself more work"

about = <<-EOT
  The loop that operators of large clusters report: the servers fall behind, the leader hears
  heartbeats late and marks healthy nodes down, every such node causes evaluations and comes
  back, and the servers fall further behind. Here each server has one core, and heartbeats alone
  take a good part of the leader's. Then a share of the clients loses the servers for a minute
  and a half. Nodes that go down beyond that share were healthy.
EOT

sources = ["https://github.com/hashicorp/nomad/pull/14474"]

example {
  chart = "nodes"
  variables = {
    nodes = 150
  }

  reading = <<-EOT
    A share of the clients loses the servers for a minute and a half. The nodes that go down beyond
    that share were healthy all the time: they sent their heartbeats, and the leader heard them too
    late. Watch how long this goes on after the clients are back, and under which broker: an evaluation
    that is shed leaves the leader time to listen.
  EOT
}

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 300
  min         = 1
}

variable "system_jobs" {
  description = "number of system jobs, which run on every node"
  type        = "integer"
  default     = 10
  min         = 1
  max         = 10000
}

variable "load" {
  description = "share of the leader's core that heartbeats take at rest"
  type        = "number"
  default     = 0.5
  min         = 0
  max         = 1
}

variable "share" {
  description = "share of the clients that lose the servers for a minute and a half"
  type        = "number"
  default     = 0.5
  min         = 0
  max         = 1
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

locals {
  # On average, a client heartbeats every one and a half times the shortest TTL.
  rate  = var.nodes / (1.5 * max(10, var.nodes / 50))
  serve = var.load / local.rate
}

cluster {
  servers    = var.servers
  schedulers = var.schedulers
}

cost {
  cores = 1

  rpc {
    serve = seconds(local.serve)
  }
}

fleet {
  report_allocations = true

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
  event "stop_clients" {
    fraction = var.share
    for      = "90s"
  }

  until "elapsed" {
    for = "30m"
  }
}

phase "recover" {
  until "settled" {}
}
