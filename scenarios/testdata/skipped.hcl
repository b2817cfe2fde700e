# While nobody works, every job has an evaluation in the queue, and nodes return: none is written
# for them where jobs that have one are skipped. Then workers take the queued ones. Those of the
# follower do so on a state that lags behind, without the nodes.
title = "nodes return to jobs that have an evaluation already"

cluster {
  schedulers = 2
}

fleet {
  group "clients" {
    nodes = 10
  }
}

job "system" {
  type   = "system"
  copies = 10
}

phase "start" {
  event "register_jobs" {}
  event "start_clients" {}

  until "settled" {}
}

phase "skip" {
  event "stop_clients" {
    fraction = 0.5
    for      = "60s"
  }

  event "schedulers" {
    at         = "30s"
    per_server = 0
  }

  event "evaluate_jobs" {
    at = "50s"
  }

  event "slow_apply" {
    at      = "52s"
    servers = ["follower"]
    longer  = "5s"
    for     = "2m"
  }

  event "schedulers" {
    at         = "80s"
    per_server = 2
  }

  until "settled" {}
}
