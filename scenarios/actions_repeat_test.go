package scenarios

import "testing"

// usersText has an event of every kind that users and operators cause, and faults inside
// servers among them.
const usersText = `title = "a busy day"

fleet {
  report_allocations = true
  group "clients" {
    nodes = 60
  }
}
job "system" {
  type   = "system"
  copies = 3
}
job "service" {
  type         = "service"
  copies       = 2
  count        = 30
  max_parallel = 7
}
phase "start" {
  event "schedulers" {
    per_server = 2
  }
  event "register_jobs" {}
  event "start_clients" {}
  until "settled" {}
}
phase "users" {
  event "update_job" {
    job = "service"
  }
  event "fail_allocs" {
    at    = "30s"
    job   = "service"
    count = 10
  }
  event "drain_nodes" {
    at       = "40s"
    fraction = 0.1
    deadline = "1m"
  }
  event "scale_job" {
    at    = "3m"
    job   = "service"
    count = 40
  }
  event "pause_eval_broker" {
    at = "4m"
  }
  event "stop_clients" {
    at       = "4m5s"
    fraction = 0.1
  }
  event "resume_eval_broker" {
    at = "5m"
  }
  event "end_drains" {
    at       = "6m"
    fraction = 0.1
  }
  event "stick_applier" {
    at  = "8m"
    for = "30s"
  }
  event "set_eligibility" {
    at       = "8m"
    fraction = 0.3
  }
  event "node_events" {
    at     = "9m"
    events = 3
  }
  event "crash_workers" {
    at = "9m30s"
  }
  event "stop_job" {
    at    = "12m"
    job   = "service"
    purge = true
  }
  event "collect_garbage" {
    at = "13m"
  }
  until "recovered" {}
}
`

// TestUsersRepeat: with all of it, the same seed gives the same run, under both brokers.
func TestUsersRepeat(t *testing.T) {
	t.Parallel()
	legacy := fileSpec(t, usersText)
	legacy.Broker = "legacy"
	shedding := fileSpec(t, usersText)
	results, err := RunAll(t.Context(), []Spec{legacy, legacy, shedding, shedding}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, res := range results {
		first := results[i/2*2]
		if res.Digest() != first.Digest() {
			t.Errorf("%s broker, run %d differs from the first", res.Run.Broker, i%2+1)
		}
		for _, inv := range res.Invariants {
			if !inv.OK {
				t.Errorf("%s broker: %s: %s", res.Run.Broker, inv.Name, inv.Detail)
			}
		}
		for _, p := range res.Phases {
			if rest := p.Unexplained(); len(rest) > 0 {
				t.Errorf("%s broker, phase %s: entries that no event explains: %v", res.Run.Broker, p.Name, rest)
			}
		}
	}
}
