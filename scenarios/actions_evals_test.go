package scenarios

import (
	"fmt"
	"strings"
	"testing"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/internal/judge"
	"github.com/simctl/simctl/scenarios/internal/run"
)

const evalsText = `title = "events about evaluations"

cluster {
  schedulers = 1
}
fleet {
  group "all" {
    nodes = 5
  }
}
job "task" {
  type   = "service"
  copies = 300
}
phase "start" {
  event "start_clients" {}
  until "settled" {}
}
phase "act" {
  %s
}
phase "end" {
  event "heal" {}
  event "resume_eval_broker" {}
  until "recovered" {}
}
`

// TestSubmissionGoesOnUntilHealed: jobs are submitted at their times, although nothing places
// them, and no more of them once the phase is over.
func TestSubmissionGoesOnUntilHealed(t *testing.T) {
	res := runOne(t, fileSpec(t, fmt.Sprintf(evalsText, `event "stick_applier" {}
  event "submit_jobs" {
    job        = "task"
    copies     = 200
    per_second = 2
    rising_to  = 6
    within     = "20s"
  }
  until "elapsed" {
    for = "30s"
  }`)), nil)
	wantSound(t, res, judge.InvariantNonePending)
	act := res.Phase("act")
	// 80 jobs in 20 s, and 6 a second in the 10 s after it.
	if n := act.RaftEntriesByType[metrics.EntryJobRegister]; n < 139 || n > 142 {
		t.Errorf("%d jobs were registered, want 140", n)
	}
	if act.RaftEntriesByType[metrics.EntryApplyPlanResults] != 0 {
		t.Errorf("plans were applied: %v", act.RaftEntriesByType)
	}
	last := res.Marks[len(res.Marks)-1].Name
	for _, m := range res.Marks {
		if strings.Contains(m.Name, ", the last at") {
			last = m.Name
		}
	}
	if want := fmt.Sprintf("%d jobs, the last at 6 a second", res.Phase("end").RaftEntriesByType[metrics.EntryJobRegister]+act.RaftEntriesByType[metrics.EntryJobRegister]); last != want {
		t.Errorf("the mark is %q, want %q", last, want)
	}
}

// TestSlowEndsAPhase: a phase that waits for slow evaluations ends when the queue is longer than
// they can be placed in.
func TestSlowEndsAPhase(t *testing.T) {
	text := fmt.Sprintf(evalsText, `event "submit_jobs" {
    job        = "task"
    per_second = 10
  }
  event "stick_applier" {
    at  = "5s"
    for = "3s"
  }
  until "slow" {
    p99    = "2s"
    window = "5s"
  }`)
	res := runOne(t, fileSpec(t, text), nil)
	wantSound(t, res, judge.InvariantNonePending)
	// The first evaluation that took longer is one that waited for the applier.
	if p := res.Phase("act"); p.EndS-p.StartS < 8 || p.EndS-p.StartS > 9 {
		t.Errorf("the phase took %g s, want 8", p.EndS-p.StartS)
	}
	compiled, err := Compile(fileSpec(t, text))
	must(t, err)
	if err := compiled.CheckReal(Real{Version: "1.4.3"}); err == nil {
		t.Error("a real cluster was to tell how long evaluations took")
	}
}

// TestEvaluationsAreDeleted: by ID, one by one or all in one entry, and by filter; only those that are
// meant, and while the broker is paused.
func TestEvaluationsAreDeleted(t *testing.T) {
	const events = `event "pause_eval_broker" {}
  event "register_jobs" {}
  event "delete_evals" {
    by    = "id"
    count = 50
  }
  event "delete_evals" {
    by    = "page"
    count = 100
  }
  event "delete_evals" {
    triggered_by = "%s"
  }
  until "elapsed" {
    for = "1s"
  }`
	for trigger, want := range map[string]struct{ entries, left uint64 }{"job-register": {52, 0}, "node-update": {51, 150}} {
		res := runOne(t, fileSpec(t, fmt.Sprintf(evalsText, fmt.Sprintf(events, trigger))), nil)
		if n := res.Phase("act").RaftEntriesByType[metrics.EntryEvalDelete]; n != want.entries {
			t.Errorf("%s: %d entries, want %d", trigger, n, want.entries)
		}
		if n := res.Phase("end").EvalsProcessed; n != want.left {
			t.Errorf("%s: %d evaluations were left, want %d", trigger, n, want.left)
		}
	}
	spec := fileSpec(t, fmt.Sprintf(evalsText, `event "delete_evals" {}
  until "recovered" {}`))
	sc, err := scenarioOf(spec)
	must(t, err)
	if _, err := run.Run(t.Context(), sc, nil); err == nil || !strings.Contains(err.Error(), "must be paused") {
		t.Errorf("with the broker at work: error %v", err)
	}
}

// TestJobsAreEvaluated: what deleted evaluations were there for is done once all jobs are evaluated.
func TestJobsAreEvaluated(t *testing.T) {
	for _, evaluated := range []bool{false, true} {
		events := `event "pause_eval_broker" {}
  event "register_jobs" {}
  event "delete_evals" {}
  event "resume_eval_broker" {
    at = "10s"
  }
  until "elapsed" {
    for = "1m"
  }`
		want := uint64(0)
		if evaluated {
			events, want = `event "evaluate_jobs" {
    at = "20s"
  }
  `+events, 300
		}
		res := runOne(t, fileSpec(t, fmt.Sprintf(evalsText, events)), nil)
		if evaluated {
			wantSound(t, res, judge.InvariantNonePending)
		}
		if n := res.Phase("act").EvalsProcessed; n != want {
			t.Errorf("evaluated %v: %d evaluations were processed, want %d", evaluated, n, want)
		}
	}
}

// TestPoisonedJobs: the evaluations of the jobs that are meant are given up, time and again, until
// the poison ends.
func TestPoisonedJobs(t *testing.T) {
	t.Parallel()
	text := fmt.Sprintf(evalsText, `event "poison_job" {
    job    = "task"
    copies = COPIES
    for    = "20m"
  }
  event "register_jobs" {}
  until "elapsed" {
    for = "20m"
  }`)
	res := elsewhere(t, fileSpec(t, strings.Replace(text, "COPIES", "3", 1)))
	wantSound(t, res, judge.InvariantNonePending)
	act := res.Phase("act")
	// A round takes 81 to 381 s: 3 to 14 of each of 3 jobs.
	if failed := act.EvalsByStatus["failed"]; failed < 9 || failed > 45 || act.EvalsProcessed != 297 {
		t.Errorf("%d evaluations failed and %d were processed, want some rounds of 3 jobs, and 297", failed, act.EvalsProcessed)
	}
	if end := res.Phase("end"); end.EvalsProcessed != 3 || end.PlansSubmitted != 3 {
		t.Errorf("%d evaluations and %d plans at the end, want those of 3 jobs", end.EvalsProcessed, end.PlansSubmitted)
	}
	if err := compileErr(fileSpec(t, strings.Replace(text, "COPIES", "301", 1))); err == nil || !strings.Contains(err.Error(), "301 copies of job task: it has 300") {
		t.Errorf("more jobs than there are: error %v", err)
	}
}

// TestNothingIsSigned: an outage that is over ten minutes before identities expire goes by unnoticed, a
// longer one takes the nodes down, and after one that outlasts the identities nobody returns by himself.
func TestNothingIsSigned(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		minutes     int
		down, ready float64 // nodes, in the phase after the outage
	}{{45, 0, 10}, {55, 10, 10}, {65, 10, 0}} {
		spec := Spec{Scenario: "identity-expiry", Broker: "shedding", Seed: 1, Vars: map[string]any{"nodes": 10, "servers": 1, "service_jobs": 2, "outage_minutes": c.minutes}}
		res := elsewhere(t, spec)
		wantSound(t, res, judge.InvariantNonePending)
		p := res.Phase("signed")
		ready := res.SeriesByName(metrics.SeriesNodesReady)
		at := 0.0
		for i, s := range ready.AtS {
			if s < p.EndS {
				at = ready.Value[i]
			}
		}
		if down := res.Phase("unsigned").NodesDown; float64(down) != c.down || at != c.ready {
			t.Errorf("%d minutes: %d nodes went down and %g are ready afterwards, want %g and %g", c.minutes, down, at, c.down, c.ready)
		}
	}
}
