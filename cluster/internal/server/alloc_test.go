package server

import (
	"errors"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/raftnode"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/virtualtest"
)

// stateWith returns a state with one ready node "n" and the job, unless it is nil, and
// puts the allocations on the node.
func stateWith(t *testing.T, job *rpc.Job, allocs ...*rpc.Allocation) *state.Snapshot {
	t.Helper()
	s := state.New()
	var errs []error
	errs = append(errs, s.Update(1, func(tx *state.Tx) error {
		return tx.UpsertNode(&rpc.Node{ID: "n", Datacenter: "dc1", Status: rpc.NodeStatusReady})
	}))
	if job != nil {
		errs = append(errs, s.Update(2, func(tx *state.Tx) error { return tx.UpsertJob(job) }))
	}
	errs = append(errs, s.Update(3, func(tx *state.Tx) error { return tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: allocs}) }))
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
	return s.Snapshot()
}

func allocOf(jobType, id, status string, change ...func(*rpc.Allocation)) *rpc.Allocation {
	a := &rpc.Allocation{
		ID: id, NodeID: "n", Namespace: rpc.DefaultNamespace, JobID: "job", JobType: jobType, TaskGroup: "tg",
		DesiredStatus: rpc.AllocDesiredRun, ClientStatus: status,
	}
	for _, f := range change {
		f(a)
	}
	return a
}

func jobOf(jobType string) *rpc.Job {
	return &rpc.Job{
		ID: "job", Namespace: rpc.DefaultNamespace, Type: jobType, Priority: 50, Datacenters: []string{"dc1"},
		TaskGroups: []rpc.TaskGroup{{Name: "tg", Count: 1, Resources: rpc.Resources{CPUMHz: 10, MemoryMB: 10}}},
	}
}

func TestAllocTrigger(t *testing.T) {
	const running, unknown, failed, complete = rpc.AllocClientRunning, rpc.AllocClientUnknown, rpc.AllocClientFailed, rpc.AllocClientComplete
	replacing := func(previous string) func(*rpc.Allocation) {
		return func(a *rpc.Allocation) { a.PreviousAllocation = previous }
	}
	for _, tt := range []struct {
		name    string
		job     *rpc.Job
		from    string
		to      string
		change  func(*rpc.Allocation)
		trigger string
	}{
		{"runs", jobOf("service"), rpc.AllocClientPending, running, nil, ""},
		{"ends well", jobOf("batch"), running, complete, nil, ""},
		{"service fails", jobOf("service"), running, failed, nil, broker.TriggeredByRetryFailedAlloc},
		{"service fails for the second time", jobOf("service"), running, failed, replacing("failed"), broker.TriggeredByRetryFailedAlloc},
		{"is to be replaced already", jobOf("service"), running, failed, func(a *rpc.Allocation) { a.FollowupEvalID = "x" }, ""},
		{"batch fails", jobOf("batch"), running, failed, nil, broker.TriggeredByRetryFailedAlloc},
		{"batch fails for the second time in a day", jobOf("batch"), running, failed, replacing("failed"), ""},
		{"batch that replaced a lost one fails", jobOf("batch"), running, failed, replacing("lost"), broker.TriggeredByRetryFailedAlloc},
		{"batch fails a day after it was replaced", jobOf("batch"), running, failed, func(a *rpc.Allocation) {
			a.PreviousAllocation, a.CreateTime = "failed", -int64(24*time.Hour)
		}, broker.TriggeredByRetryFailedAlloc},
		{"system fails", jobOf("system"), running, failed, nil, ""},
		{"comes back", jobOf("service"), unknown, running, nil, broker.TriggeredByReconnect},
		{"comes back failed", jobOf("service"), unknown, failed, nil, broker.TriggeredByReconnect},
		{"fails in a group that is gone", jobOf("service"), unknown, failed, func(a *rpc.Allocation) { a.TaskGroup = "other" }, ""},
		{"comes back in a group that is gone", jobOf("service"), unknown, running, func(a *rpc.Allocation) { a.TaskGroup = "other" }, broker.TriggeredByReconnect},
		{"ends after its job", nil, running, complete, nil, broker.TriggeredByJobDeregister},
		{"runs after its job", nil, rpc.AllocClientPending, running, nil, ""},
	} {
		jobType := "service"
		if tt.job != nil {
			jobType = tt.job.Type
		}
		a := allocOf(jobType, "a", tt.from)
		if tt.change != nil {
			tt.change(a)
		}
		snap := stateWith(t, tt.job, allocOf(jobType, "failed", failed), allocOf(jobType, "lost", rpc.AllocClientLost), a)
		u := a.Copy()
		u.ClientStatus = tt.to
		if got := allocTrigger(snap, snap.AllocByID("a"), u); got != tt.trigger {
			t.Errorf("%s: trigger %q, want %q", tt.name, got, tt.trigger)
		}
	}
}

func TestMayReconnect(t *testing.T) {
	now := time.Unix(1_700_000_000, 0)
	since := func(ago time.Duration) func(*rpc.Allocation) {
		return func(a *rpc.Allocation) { a.SetDisconnectedAt(now.Add(-ago).UnixNano()) }
	}
	patient := jobOf("service")
	patient.TaskGroups[0].MaxClientDisconnect = time.Minute
	for _, tt := range []struct {
		name  string
		job   *rpc.Job
		alloc *rpc.Allocation
		want  bool
	}{
		{"runs", patient, allocOf("service", "a", rpc.AllocClientRunning), true},
		{"its group does not wait", jobOf("service"), allocOf("service", "a", rpc.AllocClientRunning), false},
		{"is to stop", patient, allocOf("service", "a", rpc.AllocClientRunning, func(a *rpc.Allocation) { a.DesiredStatus = rpc.AllocDesiredStop }), false},
		{"has ended, though it should run", patient, allocOf("service", "a", rpc.AllocClientFailed), true},
		{"unknown for a while", patient, allocOf("service", "a", rpc.AllocClientUnknown, since(59*time.Second)), true},
		{"unknown for too long", patient, allocOf("service", "a", rpc.AllocClientUnknown, since(time.Minute)), false},
		{"unknown since nobody knows when", patient, allocOf("service", "a", rpc.AllocClientUnknown), true},
		{"its group is gone", patient, allocOf("service", "a", rpc.AllocClientRunning, func(a *rpc.Allocation) { a.TaskGroup = "other" }), false},
		{"its job is gone", nil, allocOf("service", "a", rpc.AllocClientRunning), false},
		{"back, and not noticed yet", patient, allocOf("service", "a", rpc.AllocClientRunning, since(time.Hour)), true},
	} {
		if got := mayReconnect(stateWith(t, tt.job, tt.alloc), "n", now); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// TestNodesThatMayNotReconnect: those that are not up.
func TestNodesThatMayNotReconnect(t *testing.T) {
	patient := jobOf("service")
	patient.TaskGroups[0].MaxClientDisconnect = time.Minute
	for status, want := range map[string]bool{
		rpc.NodeStatusReady: true, rpc.NodeStatusDisconnected: true, rpc.NodeStatusInit: false, rpc.NodeStatusDown: false,
	} {
		s := state.New()
		if err := s.Update(1, func(tx *state.Tx) error {
			return errors.Join(tx.UpsertNode(&rpc.Node{ID: "n", Status: status}), tx.UpsertJob(patient.Copy()), tx.UpsertPlanResults(&state.PlanResults{
				AllocsUpdated: []*rpc.Allocation{allocOf("service", "a", rpc.AllocClientRunning)},
			}))
		}); err != nil {
			t.Fatal(err)
		}
		if got := mayReconnect(s.Snapshot(), "n", time.Now()); got != want || mayReconnect(s.Snapshot(), "who", time.Now()) {
			t.Errorf("a node that is %s may reconnect: %v, want %v", status, got, want)
		}
	}
}

// TestChangesThatMatter: after which changes of a node its jobs are looked at.
func TestChangesThatMatter(t *testing.T) {
	const starts, ready, away, down = rpc.NodeStatusInit, rpc.NodeStatusReady, rpc.NodeStatusDisconnected, rpc.NodeStatusDown
	changes := map[string]string{}
	for _, from := range []string{starts, ready, away, down} {
		for _, to := range []string{starts, ready, away, down} {
			if transitionNeedsEvals(to, from) {
				changes[from] += to + " "
			}
		}
	}
	if got, want := fmt.Sprint(changes), fmt.Sprint(map[string]string{
		starts: ready + " " + away + " ", ready: away + " ", away: starts + " " + ready + " " + down + " ", down: ready + " " + away + " ",
	}); got != want {
		t.Errorf("changes of status:\n%s, want\n%s", got, want)
	}
	node := rpc.Node{ID: "n", Status: ready, Datacenter: "dc1", Name: "n", NodeClass: "c", Attributes: map[string]string{"a": "b"}, SecretID: "s"}
	for what, tt := range map[string]struct {
		change func(*rpc.Node)
		want   bool
	}{
		"nothing": {func(*rpc.Node) {}, false}, "secret": {func(n *rpc.Node) { n.SecretID = "x" }, false},
		"datacenter": {func(n *rpc.Node) { n.Datacenter = "dc2" }, true}, "name": {func(n *rpc.Node) { n.Name = "x" }, true},
		"class": {func(n *rpc.Node) { n.NodeClass = "x" }, true}, "attributes": {func(n *rpc.Node) { n.Attributes = nil }, true},
		"down": {func(n *rpc.Node) { n.Status = down }, true}, "away": {func(n *rpc.Node) { n.Status = away }, true},
		"starts": {func(n *rpc.Node) { n.Status = starts }, false},
	} {
		now := node
		tt.change(&now)
		if got := registrationNeedsEvals(&node, &now); got != tt.want {
			t.Errorf("another %s: %v, want %v", what, got, tt.want)
		}
	}
	for status, want := range map[string]bool{starts: false, ready: true, away: true, down: true} {
		if got := registrationNeedsEvals(nil, &rpc.Node{Status: status}); got != want {
			t.Errorf("a new node that is %s: %v, want %v", status, got, want)
		}
	}
}

// TestEvaluationsOfPurgedJobs: a job that is gone is evaluated for what a node still has
// of it.
func TestEvaluationsOfPurgedJobs(t *testing.T) {
	s := New(&Shared{Config: &config.Config{}}, Options{Storage: &raftnode.Storage{}})
	snap := stateWith(t, nil, allocOf("service", "a", rpc.AllocClientRunning))
	evals, _, _ := s.nodeEvals(snap, snap.NodeByID("n"), 7)
	if len(evals) != 1 || evals[0].JobID != "job" || evals[0].Type != "service" || evals[0].Priority != 50 || evals[0].NodeModifyIndex != 7 {
		t.Errorf("evaluations %+v, want one of the job", evals)
	}
}

// TestQueriesEndApart: a query that nothing ends waits for up to a sixteenth longer than it
// asks for, each for another time, and the same one for the same time in every run.
func TestQueriesEndApart(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		s := New(&Shared{Config: &config.Config{}}, Options{Storage: &raftnode.Storage{}})
		seen := map[time.Duration]bool{}
		least, most := time.Hour, time.Duration(0)
		for i := range 200 {
			req := &rpc.NodeSpecificRequest{NodeID: strconv.Itoa(i)}
			d := s.longestQuery(req)
			if again := s.longestQuery(req); again != d {
				t.Fatalf("%v, and %v for the same query", d, again)
			}
			seen[d] = true
			least, most = min(least, d), max(most, d)
		}
		if least < 5*time.Minute || least > 302*time.Second || most < 316*time.Second || most >= 318750*time.Millisecond || len(seen) < 190 {
			t.Errorf("%d different times from %v to %v, want some 200 from 5m0s to 5m18.75s", len(seen), least, most)
		}
		if d := s.longestQuery(&rpc.NodeSpecificRequest{NodeID: "n", MaxQueryTime: time.Nanosecond}); d != time.Nanosecond {
			t.Errorf("a query of 1ns takes %v", d)
		}
	})
}

// TestBatchesDoNotDependOnTheOrder: of the evaluations of a job that reports of one batch call for the same
// is written, whichever report comes first.
func TestBatchesDoNotDependOnTheOrder(t *testing.T) {
	for _, order := range [][]string{{"a", "b", "c"}, {"c", "b", "a"}, {"b", "c", "a"}} {
		virtualtest.Test(t, func(t *testing.T) {
			s := alone(t, config.Config{Seed: 1, GC: noCollection})
			var req fsm.AllocClientUpdateRequest
			for _, id := range order {
				e := &broker.Evaluation{ID: id, Namespace: rpc.DefaultNamespace, JobID: "job", Type: "service", Status: broker.StatusPending}
				mergeUpdates(&req, fsm.AllocClientUpdateRequest{Evals: []*broker.Evaluation{e}})
			}
			if _, err := s.writeUpdates(req); err != nil {
				t.Fatal(err)
			}
			if snap := s.Snapshot(); snap.EvalTotal() != 1 || snap.EvalByID("a") == nil {
				t.Errorf("in the order %v, %d evaluations are written, and a is %v", order, snap.EvalTotal(), snap.EvalByID("a"))
			}
		})
	}
}

// TestAChangeAtTheInstantOfAQuestion: it costs no second answer, as if it had come before.
func TestAChangeAtTheInstantOfAQuestion(t *testing.T) {
	for after, again := range map[time.Duration]bool{0: false, time.Nanosecond: true} {
		virtualtest.Test(t, func(t *testing.T) {
			var costs config.Costs
			costs.Cores, costs.RPC.Query = 1, time.Second
			s := alone(t, config.Config{Seed: 1, GC: noCollection, Costs: costs})
			change := func(index uint64, id string) {
				if err := s.store.Update(index, func(tx *state.Tx) error {
					return errors.Join(tx.UpsertNode(&rpc.Node{ID: "n"}), tx.UpsertPlanResults(&state.PlanResults{
						AllocsUpdated: []*rpc.Allocation{allocOf(rpc.JobTypeSystem, id, rpc.AllocClientRunning)},
					}))
				}); err != nil {
					t.Fatal(err)
				}
			}
			index := s.LastIndex()
			change(index, "a")
			resumed := make(chan rpc.ClientAllocsCall, 1)
			resp, err := ClientAllocs(t.Context(), s, &rpc.NodeSpecificRequest{NodeID: "n", MinQueryIndex: index}, func(call rpc.ClientAllocsCall) { resumed <- call })
			if resp != nil || err != nil {
				t.Fatalf("the question does not wait: %v, %v", resp, err)
			}
			time.Sleep(after)
			change(index+1, "b")
			rest, began := <-resumed, time.Now()
			if resp, err := rest(); err != nil || resp.Index != index+1 {
				t.Errorf("answer %+v, %v", resp, err)
			}
			if took := time.Since(began); (took >= 2*time.Second) != again { // asking for the allocations themselves takes one
				t.Errorf("%v after the question, a change took the server %v; a second answer: want %v", after, took, again)
			}
		})
	}
}
