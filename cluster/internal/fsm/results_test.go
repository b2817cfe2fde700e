package fsm

import (
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// entryOf returns the entry that writes one evaluation.
func entryOf(t *testing.T, index, term uint64, eval string) *raft.Log {
	t.Helper()
	data, err := EvalUpdate.With(&EvalUpdateRequest{Evals: []*broker.Evaluation{{ID: eval, JobID: "j", Status: broker.StatusPending}}}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	return &raft.Log{Index: index, Term: term, Type: raft.LogCommand, Data: data}
}

// apply applies an entry to the store of one server.
func apply(t *testing.T, r *Results, s *state.Store, l *raft.Log) *Effects {
	t.Helper()
	result, err := r.Of(l)
	if err != nil {
		t.Fatal(err)
	}
	if got := result.Cost(config.FSMCosts{Entry: 5, Eval: 2}, s).Total(); got != 7 {
		t.Errorf("the entry costs %v, want 7ns on every server", got)
	}
	fx, err := result.Apply(s)
	if err != nil {
		t.Fatal(err)
	}
	return fx
}

// TestResultsAreShared: the second server gets the state of the first, and an entry of
// another term at the same index, as a new leader writes, is another entry.
func TestResultsAreShared(t *testing.T) {
	for _, independent := range []bool{false, true} {
		r := &Results{Servers: 3, Independent: independent}
		a, b, c := state.New(), state.New(), state.New()
		apply(t, r, a, entryOf(t, 1, 1, "one"))
		fx := apply(t, r, b, entryOf(t, 1, 1, "one"))
		if shared := a.Snapshot() == b.Snapshot(); shared == independent || a.Snapshot().Fingerprint() != b.Snapshot().Fingerprint() {
			t.Errorf("independent %t: servers share their state: %t", independent, shared)
		}
		if len(fx.Evals) != 1 || fx.Evals[0].ID != "one" || fx.Counters.EvalsCreated != 1 {
			t.Errorf("independent %t: effects on the second server %+v", independent, fx)
		}
		apply(t, r, c, entryOf(t, 1, 2, "other"))
		if c.Snapshot().EvalTotal() != 1 || c.Snapshot().Fingerprint() == a.Snapshot().Fingerprint() {
			t.Errorf("independent %t: an entry of another term gave the state of the first", independent)
		}
	}
}

// TestLentCommands: an entry whose command is lent has the rows that decoding gives, and they are not those that were lent.
func TestLentCommands(t *testing.T) {
	was, until := "", time.Now() // with a reading of the monotonic clock
	for _, how := range []string{"independent", "decoded", "lent", "returned"} {
		lent := &broker.Evaluation{
			ID: "e", JobID: "j", Status: broker.StatusPending, Wait: 3, WaitUntil: until,
			QueuedAllocations: map[string]int{"tg": 1}, ClassEligibility: map[string]bool{},
		}
		c := EvalUpdate.With(&EvalUpdateRequest{Evals: []*broker.Evaluation{lent}})
		data, err := c.Encode()
		if err != nil {
			t.Fatal(err)
		}
		r := &Results{Servers: 1, Independent: how == "independent"}
		if how != "decoded" {
			r.Lend(data, c)
		}
		if how == "returned" {
			r.Return(data)
			lent.JobID = "another, for nobody looks at it any more"
		}
		s := state.New()
		apply(t, r, s, &raft.Log{Index: 7, Term: 1, Type: raft.LogCommand, Data: data})
		row := s.Snapshot().EvalByID("e")
		if now := fmt.Sprintf("%+v", *row); was == "" {
			was = now
		} else if now != was {
			t.Errorf("%s: the row is\n%s, want\n%s", how, now, was)
		}
		if lent.CreateIndex != 0 {
			t.Errorf("%s: who lent the command finds it changed", how)
		}
	}
}

// TestLentPlans: a plan that is lent, and what clients report, have the rows that decoding gives, and they are not those that were lent.
func TestLentPlans(t *testing.T) {
	var was string
	for _, lend := range []bool{false, true} {
		alloc := &rpc.Allocation{ID: "a", NodeID: "n", JobID: "j", Namespace: "default", TaskGroup: "web", EvalID: "e", DeploymentID: "d"}
		deployment := &rpc.Deployment{ID: "d", JobID: "j", Namespace: "default", Status: rpc.DeploymentRunning, Groups: []rpc.DeploymentGroup{{Name: "web", DesiredTotal: 1}}}
		after := &broker.Evaluation{ID: "f", JobID: "j", Status: broker.StatusPending}
		s, r := state.New(), &Results{Servers: 1}
		for i, c := range []Command{
			EvalUpdate.With(&EvalUpdateRequest{Evals: []*broker.Evaluation{{ID: "e", JobID: "j", Status: broker.StatusPending}}}),
			ApplyPlanResults.With(&state.PlanResults{EvalID: "e", UpdatedAt: 7, AllocsUpdated: []*rpc.Allocation{alloc}, Deployment: deployment}),
			AllocClientUpdate.With(&AllocClientUpdateRequest{
				Alloc: []*rpc.Allocation{{ID: "a", NodeID: "n", ClientStatus: rpc.AllocClientRunning, Health: rpc.AllocHealthy, ModifyTime: 9}},
				Evals: []*broker.Evaluation{after},
			}),
		} {
			data, err := c.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if lend {
				r.Lend(data, c)
			}
			result, err := r.Of(&raft.Log{Index: uint64(i + 1), Term: 1, Type: raft.LogCommand, Data: data})
			if err == nil {
				_, err = result.Apply(s)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if now := s.Snapshot().Fingerprint(); was == "" {
			was = now
		} else if now != was {
			t.Error("lent commands lead to another state than decoded ones")
		}
		if alloc.CreateIndex != 0 || deployment.CreateIndex != 0 || deployment.Groups[0].Placed != 0 || after.CreateIndex != 0 {
			t.Errorf("lent %t: who lent a command finds it changed: %+v, %+v, %+v", lend, alloc, deployment, after)
		}
	}
}

// TestResultsAreForgotten: none is kept that every server has, and no more than there is room
// for when a server does not run; that one works out for itself what it missed.
func TestResultsAreForgotten(t *testing.T) {
	r := &Results{Servers: 2}
	a, b := state.New(), state.New()
	for i := uint64(1); i <= 10; i++ {
		apply(t, r, a, entryOf(t, i, 1, "e"))
		apply(t, r, b, entryOf(t, i, 1, "e"))
	}
	if n := len(r.byIndex); n != 0 {
		t.Errorf("%d results are kept that both servers have", n)
	}
	for i := uint64(11); i <= maxResults+100; i++ {
		apply(t, r, a, entryOf(t, i, 1, "e"))
	}
	if n := len(r.byIndex); n != maxResults {
		t.Errorf("%d results are kept, want %d", n, maxResults)
	}
	for i := uint64(11); i <= maxResults+100; i++ {
		apply(t, r, b, entryOf(t, i, 1, "e"))
	}
	if a.Snapshot() != b.Snapshot() {
		t.Error("a server that was behind does not share the state in the end")
	}
}

// TestFailuresAreShared: an entry that cannot be applied fails on every server, and changes
// none.
func TestFailuresAreShared(t *testing.T) {
	r := &Results{Servers: 2}
	data, err := NodeUpdateDrain.With(&NodeUpdateDrainRequest{NodeID: "unknown"}).Encode()
	if err != nil {
		t.Fatal(err)
	}
	for range r.Servers {
		s := state.New()
		result, err := r.Of(&raft.Log{Index: 1, Term: 1, Type: raft.LogCommand, Data: data})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := result.Apply(s); err == nil || s.Index() != 0 {
			t.Errorf("the entry left the state at %d, error %v", s.Index(), err)
		}
	}
	if _, err := r.Of(&raft.Log{Index: 2, Term: 1, Type: raft.LogCommand, Data: []byte{255}}); err == nil {
		t.Error("an entry of an unknown type has a result")
	}
}
