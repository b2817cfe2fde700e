package leader

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/virtualtest"
)

// deploying returns the log of a job with a deployment of two, both of which are placed: those
// that are named are healthy, or else unhealthy.
func deploying(t *testing.T, l *soleLog, job string, health ...string) {
	t.Helper()
	l.update(func(tx *state.Tx) error {
		return tx.UpsertJob(&rpc.Job{Namespace: "default", ID: job, Type: rpc.JobTypeService, Priority: 50})
	})
	l.update(func(tx *state.Tx) error {
		return tx.UpsertDeployment(&rpc.Deployment{
			ID: "d-" + job, Namespace: "default", JobID: job, Status: rpc.DeploymentRunning, Priority: 50,
			Groups: []rpc.DeploymentGroup{{Name: "g", ProgressDeadline: time.Minute, DesiredTotal: 2}},
		})
	})
	for i, h := range health {
		a := &rpc.Allocation{
			ID: fmt.Sprint(job, i), Namespace: "default", JobID: job, NodeID: "n", TaskGroup: "g", DeploymentID: "d-" + job,
			DesiredStatus: rpc.AllocDesiredRun, ClientStatus: rpc.AllocClientPending, CreateTime: time.Now().UnixNano(), ModifyTime: time.Now().UnixNano(),
		}
		l.update(func(tx *state.Tx) error {
			return tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: []*rpc.Allocation{a}, UpdatedAt: time.Now().UnixNano()})
		})
		if h != "" {
			l.update(func(tx *state.Tx) error {
				tx.UpdateAllocsFromClient(&rpc.Allocation{ID: a.ID, ClientStatus: rpc.AllocClientRunning, Health: h, ModifyTime: time.Now().UnixNano()})
				return nil
			})
		}
	}
}

// TestDeploymentsOfANewLeader: it asks for a look at the job if an allocation turned healthy since
// the last, and for the replacement of each that is unhealthy in any case.
func TestDeploymentsOfANewLeader(t *testing.T) {
	const healthy, unhealthy = rpc.AllocHealthy, rpc.AllocUnhealthy
	for _, tt := range []struct {
		name   string
		health []string
		looked string // the status of an evaluation made since; empty: there is none
		asked  bool   // for replacements, before
		evals  int
		again  string // which are to be replaced
	}{
		{"nothing was said", []string{"", ""}, "", false, 0, "[]"},
		{"healthy", []string{healthy, ""}, "", false, 1, "[]"},
		{"healthy, and seen", []string{healthy, healthy}, broker.StatusComplete, false, 0, "[]"},
		{"healthy, and about to be seen", []string{healthy, ""}, broker.StatusPending, false, 0, "[]"},
		{"healthy, and the look was canceled", []string{healthy, ""}, broker.StatusCanceled, false, 1, "[]"},
		{"unhealthy", []string{healthy, unhealthy}, "", false, 1, "[job1]"},
		{"unhealthy, and seen", []string{healthy, unhealthy}, broker.StatusComplete, false, 1, "[job1]"},
		{"unhealthy, and to be replaced", []string{"", unhealthy}, broker.StatusComplete, true, 0, "[job1]"},
	} {
		virtualtest.Test(t, func(t *testing.T) {
			l := newSoleLog(t)
			deploying(t, l, "job", tt.health...)
			if tt.looked != "" {
				e := evaluation("looked", func(e *broker.Evaluation) { e.JobID, e.Status = "job", tt.looked })
				l.update(func(tx *state.Tx) error { return tx.UpsertEvals(e) })
			}
			if tt.asked {
				l.update(func(tx *state.Tx) error { tx.RequestTransitions(nil, []string{"job1"}); return nil })
			}
			before := l.Snapshot().EvalTotal()
			w := NewDeployments(l)
			w.Start(l.Snapshot())
			w.Read(l.Snapshot(), broker.JobID{Namespace: "default", ID: "job"})
			time.Sleep(30 * time.Second)
			w.Stop()
			var again []string
			for a := range l.Snapshot().Allocs() {
				if a.Reschedule {
					again = append(again, a.ID)
				}
			}
			if evals := l.Snapshot().EvalTotal() - before; evals != tt.evals || fmt.Sprint(again) != tt.again {
				t.Errorf("%s: %d evaluations, and %v to be replaced; want %d, and %s", tt.name, evals, again, tt.evals, tt.again)
			}
			if n := len(l.causes); n != tt.evals {
				t.Errorf("%s: %d entries are accounted for, want %d", tt.name, n, tt.evals)
			}
		})
	}
}

// TestUnhealthyOfASystemJob: it fails the deployment at once, for a system job reschedules nothing.
func TestUnhealthyOfASystemJob(t *testing.T) {
	for jobType, want := range map[string]string{rpc.JobTypeService: rpc.DeploymentRunning, rpc.JobTypeSystem: rpc.DeploymentFailed} {
		virtualtest.Test(t, func(t *testing.T) {
			l := newSoleLog(t)
			deploying(t, l, "job", "", "")
			l.update(func(tx *state.Tx) error {
				return tx.UpsertJob(&rpc.Job{Namespace: "default", ID: "job", Type: jobType})
			})
			id := broker.JobID{Namespace: "default", ID: "job"}
			w := NewDeployments(l)
			w.Start(l.Snapshot())
			defer w.Stop()
			a := &rpc.Allocation{ID: "job0", ClientStatus: rpc.AllocClientFailed, Health: rpc.AllocUnhealthy}
			l.update(func(tx *state.Tx) error { tx.UpdateAllocsFromClient(a); return nil })
			w.Healths(l.Snapshot(), []*rpc.Allocation{a})
			for range 2 {
				w.Read(l.Snapshot(), id)
			}
			time.Sleep(10 * time.Second)
			if d := l.Snapshot().DeploymentOf(id); d.Status != want || l.Snapshot().EvalTotal() != 1 || len(l.causes) != 1 {
				t.Errorf("%s: %s, with %d evaluations due to %v; want %s, and one", jobType, d.Status, l.Snapshot().EvalTotal(), l.causes, want)
			}
		})
	}
}

// TestDeploymentIsReadLate: what clients say has no consequence before it is read, and none then if the job was looked at meanwhile.
func TestDeploymentIsReadLate(t *testing.T) {
	job := broker.JobID{Namespace: "default", ID: "job"}
	for _, tt := range []struct {
		name  string
		do    string // r: read, h: the next is healthy, e: another evaluation of the job
		evals int
	}{
		{"nobody reads", "hh", 0},
		{"read at once", "hr", 1},
		{"read in one go", "hhr", 1},
		{"read one by one, within a second", "hrhr", 1},
		{"read twice", "hrr", 1},
		{"looked at before it is read", "her", 0},
		{"looked at, and one more", "hehr", 1},
		{"read, and looked at then", "hre", 1},
	} {
		virtualtest.Test(t, func(t *testing.T) {
			l := newSoleLog(t)
			deploying(t, l, "job", "", "")
			w := NewDeployments(l)
			w.Start(l.Snapshot())
			defer w.Stop()
			healthy, others := 0, 0
			for _, c := range tt.do {
				switch c {
				case 'r':
					w.Read(l.Snapshot(), job)
				case 'h':
					a := &rpc.Allocation{ID: fmt.Sprint("job", healthy), ClientStatus: rpc.AllocClientRunning, Health: rpc.AllocHealthy}
					healthy++
					l.update(func(tx *state.Tx) error { tx.UpdateAllocsFromClient(a); return nil })
					w.Healths(l.Snapshot(), []*rpc.Allocation{a})
				case 'e':
					e := evaluation(fmt.Sprint("other", others), func(e *broker.Evaluation) { e.JobID = "job" })
					others++
					l.update(func(tx *state.Tx) error { return tx.UpsertEvals(e) })
				}
				time.Sleep(100 * time.Millisecond)
			}
			time.Sleep(10 * time.Second)
			if n := l.Snapshot().EvalTotal() - others; n != tt.evals {
				t.Errorf("%s (%s): %d evaluations, want %d", tt.name, tt.do, n, tt.evals)
			}
		})
	}
}

// TestDeploymentsAreApart: what becomes of one deployment changes nothing about another, and
// reports that say nothing of health change nothing at all.
func TestDeploymentsAreApart(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		l := newSoleLog(t)
		deploying(t, l, "one", "", "")
		deploying(t, l, "two", "", "")
		w := NewDeployments(l)
		w.Start(l.Snapshot())
		defer w.Stop()
		status := func(job string) string {
			return l.Snapshot().DeploymentOf(broker.JobID{Namespace: "default", ID: job}).Status
		}
		l.update(func(tx *state.Tx) error {
			tx.UpdateDeployment(&rpc.DeploymentUpdate{Namespace: "default", JobID: "one", DeploymentID: "d-one", Status: rpc.DeploymentCancelled})
			return nil
		})
		w.Changed(l.Snapshot(), []broker.JobID{{Namespace: "default", ID: "one"}})
		w.Healths(l.Snapshot(), []*rpc.Allocation{l.Snapshot().AllocByID("one0"), l.Snapshot().AllocByID("two0"), {ID: "unknown"}})
		for _, job := range []string{"one", "two", "unknown"} {
			w.Read(l.Snapshot(), broker.JobID{Namespace: "default", ID: job})
		}
		time.Sleep(59 * time.Second)
		synctest.Wait()
		if l.Snapshot().EvalTotal() != 0 || status("two") != rpc.DeploymentRunning {
			t.Errorf("%d evaluations and a deployment that is %s before the deadline", l.Snapshot().EvalTotal(), status("two"))
		}
		time.Sleep(2 * time.Second)
		if status("one") != rpc.DeploymentCancelled || status("two") != rpc.DeploymentFailed || !slices.Equal(l.causes, []fsm.Cause{fsm.DeploymentGivenUp}) {
			t.Errorf("after the deadline: %s and %s, due to %v; want the second alone to have failed", status("one"), status("two"), l.causes)
		}
	})
}

// TestProgressDeadline: it is that of the first of the groups that are not done.
func TestProgressDeadline(t *testing.T) {
	for _, tt := range []struct {
		groups []rpc.DeploymentGroup
		want   int64 // zero: none
	}{
		{nil, 0},
		{[]rpc.DeploymentGroup{{DesiredTotal: 2, Healthy: 1, RequireProgressBy: 9}}, 9},
		{[]rpc.DeploymentGroup{{DesiredTotal: 2, Healthy: 2, RequireProgressBy: 5}, {DesiredTotal: 1, RequireProgressBy: 9}}, 9},
		{[]rpc.DeploymentGroup{{DesiredTotal: 2, RequireProgressBy: 9}, {DesiredTotal: 1, RequireProgressBy: 7}}, 7},
		{[]rpc.DeploymentGroup{{DesiredTotal: 2, RequireProgressBy: 9}, {DesiredTotal: 1}}, 9},
		{[]rpc.DeploymentGroup{{DesiredTotal: 2, Healthy: 2, RequireProgressBy: 5}}, 0},
	} {
		got := progressDeadline(&rpc.Deployment{Groups: tt.groups})
		if got.IsZero() != (tt.want == 0) || tt.want != 0 && got.UnixNano() != tt.want {
			t.Errorf("%+v: %v, want %d", tt.groups, got, tt.want)
		}
	}
}

// TestDeploymentsOfWhatIsGone: the evaluation that a deployment asks for is of its job's type, and of a service
// job if that was purged.
func TestDeploymentsOfWhatIsGone(t *testing.T) {
	l := newSoleLog(t)
	l.update(func(tx *state.Tx) error {
		return tx.UpsertJob(&rpc.Job{Namespace: "default", ID: "batch", Type: rpc.JobTypeBatch})
	})
	w := NewDeployments(l)
	for id, want := range map[string]string{"batch": rpc.JobTypeBatch, "gone": rpc.JobTypeService} {
		e := w.eval(&rpc.Deployment{ID: "d", Namespace: "default", JobID: id, Priority: 7})
		if e.Type != want || e.JobID != id || e.Priority != 7 || e.DeploymentID != "d" {
			t.Errorf("of job %s: %+v, want type %s", id, e, want)
		}
	}
}
