title = "the leader is cut off from everybody, and returns"

about = <<-EOT
  A network partition isolates the leader. The others elect a new one, which gives every node
  five minutes to be heard of again. Clients that spoke to the old leader find another server;
  when the partition heals, the old leader steps down. In releases before 1.9.0 it has raised its
  term meanwhile, and deposes the new one. No acknowledged write may be lost.
EOT

example {
  chart = "raft"
  variables = {
    nodes = 100
  }

  reading = <<-EOT
    The log stands still from the partition until another leader is elected, then goes on. The old
    leader commits nothing. The new leader gives every node five minutes to be heard of
    (failover_heartbeat_ttl), so it notices late which nodes fell silent in the meantime. The
    invariants compare the servers' logs with each other and with the acknowledged writes.
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

cluster {
  servers    = var.servers
  schedulers = var.schedulers
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

phase "partition" {
  event "partition" {
    for = "3m"

    from {
      servers = ["leader"]
    }
  }

  event "stop_clients" {
    at       = "30s"
    fraction = 0.1
    for      = "4m"
  }

  until "settled" {}
}
