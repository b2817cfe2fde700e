package leader

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestChangedPeriodicJobs: a launch that was due before the job changed is none, and a job that is
// stopped, or not periodic any more, has none.
func TestChangedPeriodicJobs(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		l := newSoleLog(t)
		p := NewPeriodic(l, config.Habits{})
		job := func(every time.Duration) *rpc.Job {
			return &rpc.Job{Namespace: "default", ID: "job", Type: rpc.JobTypeBatch, Periodic: &rpc.PeriodicConfig{Every: every}}
		}
		id := broker.JobID{Namespace: "default", ID: "job"}
		p.JobChanged(id, job(time.Minute)) // the server does not lead
		p.Start(l.Snapshot())
		if len(p.tracked) != 0 {
			t.Errorf("%v is tracked of a job before the server led", p.tracked)
		}
		p.JobChanged(id, job(time.Minute))
		due := p.first()
		p.JobChanged(id, job(time.Hour))
		p.dispatch(due)
		if l.store.Index() != 0 {
			t.Error("a launch that was due before the job changed was made")
		}
		stopped, once := job(time.Minute), job(time.Minute)
		stopped.Stop, once.Periodic = true, nil
		for what, now := range map[string]*rpc.Job{"stopped": stopped, "not periodic": once, "gone": nil} {
			p.JobChanged(id, job(time.Minute))
			if p.JobChanged(id, now); len(p.tracked) != 0 {
				t.Errorf("a job that is %s is tracked", what)
			}
		}
		p.JobChanged(id, job(time.Minute))
		p.dispatch(p.first())
		if n := len(slices.Collect(l.Snapshot().Jobs())); n != 1 || !slices.Equal(l.causes, []fsm.Cause{fsm.JobLaunched}) {
			t.Errorf("%d jobs launched, due to %v", n, l.causes)
		}
	})
}

// TestChildRuns: which launches of a job keep it from being launched again.
func TestChildRuns(t *testing.T) {
	parent := &rpc.Job{Namespace: "default", ID: "p"}
	for _, tt := range []struct {
		name          string
		parent, space string
		alloc, eval   string // their statuses; empty: none
		runs          bool
	}{
		{"done", "p", "default", rpc.AllocClientComplete, broker.StatusComplete, false},
		{"runs", "p", "default", rpc.AllocClientRunning, broker.StatusComplete, true},
		{"waits", "p", "default", "", broker.StatusBlocked, true},
		{"another's", "q", "default", rpc.AllocClientRunning, broker.StatusPending, false},
		{"of another namespace", "p", "other", rpc.AllocClientRunning, broker.StatusPending, false},
	} {
		l := newSoleLog(t)
		l.update(func(tx *state.Tx) error {
			err := tx.UpsertJob(&rpc.Job{Namespace: tt.space, ID: "child", ParentID: tt.parent, Type: rpc.JobTypeBatch})
			if tt.alloc != "" {
				a := &rpc.Allocation{ID: "a", NodeID: "n", Namespace: tt.space, JobID: "child", DesiredStatus: rpc.AllocDesiredRun, ClientStatus: tt.alloc}
				err = errors.Join(err, tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: []*rpc.Allocation{a}}))
			}
			return errors.Join(err, tx.UpsertEvals(&broker.Evaluation{ID: "e", Namespace: tt.space, JobID: "child", Status: tt.eval}))
		})
		if got := childRuns(l.Snapshot(), parent); got != tt.runs {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.runs)
		}
	}
}
