title = "a backlog builds up while schedulers are off, drains, and then clients fall silent"

about = <<-EOT
  The published benchmark of load shedding. Clients register while the schedulers are off, so
  every node leaves an evaluation of every job. The schedulers come on and drain the backlog.
  Then the clients fall silent, all at once.
EOT

sources = ["https://github.com/hashicorp/nomad/pull/14621"]

example {
  chart = "pending"
  variables = {
    nodes = 500
  }

  reading = <<-EOT
    The legacy broker is on the left, the shedding broker on the right. While the schedulers are off,
    both hold the same backlog. In the drain the legacy broker works it off one by one, a straight
    slope. The shedding broker drops all but the newest evaluation of each job as soon as the first one
    is acknowledged, and the line falls to nothing. In the storm nodes expire over tens of seconds, so
    there is less to shed at a time: the gain is smaller, and grows with the number of nodes.
  EOT
}

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 5000
  min         = 1
}

variable "system_jobs" {
  description = "number of system jobs, which run on every node"
  type        = "integer"
  default     = 10
  min         = 0
  max         = 10000

  validation {
    condition     = var.system_jobs + var.service_jobs > 0
    error_message = "there must be at least one job: set it or --service-jobs"
  }
}

variable "service_jobs" {
  description = "number of service jobs"
  type        = "integer"
  default     = 0
  min         = 0
  max         = 10000
}

variable "allocs_per_node" {
  description = "service allocations per node, on average"
  type        = "number"
  default     = 0
  min         = 0
  max         = 10000

  validation {
    condition     = var.service_jobs == 0 || local.count > 0
    error_message = "every service job needs an allocation: set it to ${ceil(1000 * var.service_jobs / var.nodes) / 1000} or more"
  }

  validation {
    condition     = var.service_jobs > 0 || var.allocs_per_node == 0
    error_message = "allocations need a job: set --service-jobs, too"
  }
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

variable "fraction" {
  description = "share of the clients that fall silent, 0 to 1"
  type        = "number"
  default     = 1
  min         = 0
  max         = 1
}

# In the published drains there is room for 29 entries of clients under 1.4.3 and for 173 under
# 1.4.2. Thousands of clients that report write thousands (docs/findings). Without reports the
# countdown of the pull request is met within a percent (docs/validation).
variable "report_allocations" {
  description = "whether clients report allocations"
  type        = "bool"
  default     = false
}

variable "client_connections" {
  description = "connections to each server that its clients share; 0: each has its own"
  type        = "integer"
  default     = 0
  min         = 0
  max         = 1000000
  optional    = true
}

variable "max_heartbeats_per_second" {
  description = "heartbeats a second that the leader spreads the clients over"
  type        = "number"
  default     = 50
  min         = 0.001
  max         = 1000000
  optional    = true
}

variable "min_heartbeat_ttl_s" {
  description = "shortest heartbeat TTL, in seconds"
  type        = "number"
  default     = 10
  min         = 0.001
  max         = 86400
  optional    = true
}

variable "heartbeat_grace_s" {
  description = "seconds after the TTL before a node is down"
  type        = "number"
  default     = 10
  min         = 0.001
  max         = 86400
  optional    = true
}

variable "reaper_interval_s" {
  description = "seconds between two batches of cancelable evaluations"
  type        = "number"
  default     = 5
  min         = 0.001
  max         = 86400
  optional    = true
}

variable "reaper_batch" {
  description = "maximum evaluations canceled in one Raft entry"
  type        = "integer"
  default     = 728
  min         = 1
  max         = 1000000
  optional    = true
}

locals {
  # Allocations of each service job.
  count = var.service_jobs > 0 ? round(var.allocs_per_node * var.nodes / var.service_jobs) : 0

  # Every node has room for the system jobs and for the service allocations it may take
  # over: one and a half times its share, and more if more than a quarter of the clients
  # stop.
  left     = 1 - var.fraction
  headroom = local.left > 0 ? min(max(1.5, 1.1 / local.left), 10) : 1.5
  slots    = var.system_jobs + 1 + ceil(var.allocs_per_node * local.headroom)
}

cluster {
  servers = var.servers

  heartbeat {
    max_per_second = var.max_heartbeats_per_second
    min_ttl        = seconds(var.min_heartbeat_ttl_s)
    grace          = seconds(var.heartbeat_grace_s)
  }

  reaper {
    interval = seconds(var.reaper_interval_s)
    batch    = var.reaper_batch
  }
}

fleet {
  report_allocations = var.report_allocations
  connections        = var.client_connections

  group "clients" {
    nodes = var.nodes

    resources {
      cpu    = local.slots * 20
      memory = local.slots * 32
      disk   = local.slots * 10
    }
  }
}

job "system" {
  type   = "system"
  copies = var.system_jobs
}

job "service" {
  type   = "service"
  copies = var.service_jobs
  count  = local.count
}

phase "register" {
  event "register_jobs" {}
  event "start_clients" {}

  until "registered" {
    for = "3s"
  }
}

phase "drain" {
  event "schedulers" {
    per_server = var.schedulers
  }

  until "recovered" {}
}

phase "storm" {
  event "stop_clients" {
    fraction = var.fraction
  }

  until "recovered" {
    after_down = true
  }
}
