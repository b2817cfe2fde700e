variable "count" {
  default = 2
}

job "web" {
  datacenters = ["dc1"]
  type        = "service"

  group "front" {
    count = var.count

    update {
      max_parallel = 1
    }

    task "srv" {
      driver = "mock_driver"
      config {
        run_for = "24h"
      }
      resources {
        cpu    = 200
        memory = 128
      }
    }
  }
}
