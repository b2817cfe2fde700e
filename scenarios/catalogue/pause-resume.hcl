title = "an operator pauses the broker in a storm, and resumes it"

about = <<-EOT
  With pause_eval_broker in the scheduler configuration, the leader stops handing out work
  without giving up leadership. Evaluations are still written, and wait in the state. When the
  broker resumes, it restores all of them at once.
EOT

sources = ["https://developer.hashicorp.com/nomad/api-docs/operator/scheduler"]

example {
  chart = "queues"
  variables = {
    nodes = 100
  }

  reading = <<-EOT
    While the broker is paused its queues are empty: nodes go down, their evaluations are written to
    the state, and nobody works on them. On resuming, the broker restores them all at once. That is as
    large a backlog as a storm can leave; what follows is the drain of heartbeat-storm.
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

phase "paused" {
  event "pause_eval_broker" {}

  event "stop_clients" {
    at       = "5s"
    fraction = 0.5
    for      = "2m"
  }

  until "elapsed" {
    for = "5m"
  }
}

phase "resumed" {
  event "resume_eval_broker" {}

  until "settled" {}
}
