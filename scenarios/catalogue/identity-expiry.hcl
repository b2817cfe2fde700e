title = "the servers cannot renew the identities of clients, and all of them expire"

about = <<-EOT
  Since Nomad 1.11 a client authenticates itself by an identity, a token that servers have signed
  and that is good for a day. A heartbeat in the last third of that time brings a new one. A fleet
  that was started together renews together. If servers cannot sign, as when an external keyring is
  not there, heartbeats go on until ten minutes before the end, and then they are refused. Once an
  identity has expired everything that its client asks is refused, and only a client that registers
  anew, because it is restarted, gets another. Here an identity is good for an hour.
EOT

sources = [
  "https://github.com/hashicorp/nomad/issues/27763",
  "https://github.com/hashicorp/nomad/issues/28555",
  "https://github.com/hashicorp/nomad/pull/28566",
]

example {
  chart     = "nodes"
  variables = {}

  reading = <<-EOT
    For fifty minutes nothing is to be seen. Then heartbeats are refused, all nodes go down within
    half a minute, and their jobs are left without a place. The servers can sign again after 65
    minutes, which helps nobody: every identity has expired, and all nodes stay down until the
    clients are restarted. What the outage does hangs on its length alone. With --outage-minutes 55
    the nodes go down and come back by themselves. With --outage-minutes 45 nobody notices: the next
    heartbeats renew, and write nothing.

    The brokers hardly differ, since most evaluations find no room and wait, one for each job. What
    is simulated is what Nomad 2.0.5 does with identities, whatever the release of the broker. A
    later change lets clients whose identity has expired register by themselves (nomad #28566). Not
    simulated are the rotation of keys, after which each renewal is an entry of the log, and the
    time that signing takes.
  EOT
}

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 100
  min         = 1
}

variable "system_jobs" {
  description = "number of system jobs, which run on every node"
  type        = "integer"
  default     = 5
  min         = 0
  max         = 10000
}

variable "service_jobs" {
  description = "number of service jobs with ten allocations each"
  type        = "integer"
  default     = 20
  min         = 0
  max         = 10000
}

variable "identity_minutes" {
  description = "how long an identity is good, in minutes"
  type        = "number"
  default     = 60
  min         = 31
}

variable "outage_minutes" {
  description = "how long the servers cannot sign, in minutes"
  type        = "number"
  default     = 65
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
  servers      = var.servers
  schedulers   = var.schedulers
  identity_ttl = seconds(var.identity_minutes * 60)
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

job "service" {
  type   = "service"
  copies = var.service_jobs
  count  = 10
}

phase "start" {
  event "start_clients" {}

  event "register_jobs" {
    at = "20s"
  }

  until "settled" {}
}

phase "unsigned" {
  event "fail_signing" {
    for = seconds(var.outage_minutes * 60)
  }

  until "elapsed" {
    for = seconds(var.outage_minutes * 60)
  }
}

phase "signed" {
  until "elapsed" {
    for = "10m"
  }
}

phase "restart" {
  event "stop_clients" {}

  event "resume_clients" {
    at = "10s"
  }

  until "settled" {
    for = "5m"
  }
}
