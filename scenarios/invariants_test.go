package scenarios

import (
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/metrics"
)

// world of tests that check a state without a cluster.
func checker() *run { return &run{world: wallWorld{time.Now()}} }

func wantCheck(t *testing.T, got []metrics.Invariant, name string, ok bool, parts ...string) {
	t.Helper()
	for _, c := range got {
		if c.Name != name {
			continue
		}
		if c.OK != ok {
			t.Errorf("%q is %v: %s; want %v", name, c.OK, c.Detail, ok)
		}
		for _, p := range parts {
			if !strings.Contains(c.Detail, p) {
				t.Errorf("%q does not say %q: %s", name, p, c.Detail)
			}
		}
		return
	}
	t.Errorf("%q was not checked", name)
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func eval(id, job, status string) *broker.Evaluation {
	return &broker.Evaluation{ID: id, Namespace: rpc.DefaultNamespace, JobID: job, Type: "system", Status: status}
}

func TestConservation(t *testing.T) {
	store := state.New()
	must(t, store.Update(10, func(tx *state.Tx) error {
		return tx.UpsertEvals(
			eval("a", "j", broker.StatusComplete), eval("b", "j", broker.StatusCanceled), eval("c", "j", broker.StatusFailed))
	}))
	acked := map[evalKey]struct{}{keyOf("a"): {}}
	good := cluster.Counters{EvalsCreated: 3, EvalsProcessed: 1, EvalsCanceled: 1, EvalsFailed: 1}
	cases := []struct {
		name   string
		counts cluster.Counters
		seen   seen
		ok     bool
		want   string
	}{
		{"all accounts agree", good, seen{acks: 1, acked: acked}, true, "3 created = 1 complete + 1 canceled + 1 failed + 0 blocked + 0 pending; 1 processed"},
		{"one vanished", cluster.Counters{EvalsCreated: 4, EvalsProcessed: 1, EvalsCanceled: 1, EvalsFailed: 1},
			seen{acks: 1, acked: acked}, false, "state holds 3, but 4 were created"},
		{"one was canceled unseen", cluster.Counters{EvalsCreated: 3, EvalsProcessed: 1, EvalsFailed: 1},
			seen{acks: 1, acked: acked}, false, "state holds 1 canceled, but 0 were canceled"},
		{"one failed unseen", cluster.Counters{EvalsCreated: 3, EvalsProcessed: 1, EvalsCanceled: 1},
			seen{acks: 1, acked: acked}, false, "state holds 1 failed, but 0 failed"},
		{"an ack was counted twice", cluster.Counters{EvalsCreated: 3, EvalsProcessed: 2, EvalsCanceled: 1, EvalsFailed: 1},
			seen{acks: 1, acked: acked}, false, "1 acks were seen, but 2 evaluations processed"},
		{"one completed without a worker", cluster.Counters{EvalsCreated: 3, EvalsCanceled: 1, EvalsFailed: 1},
			seen{}, false, "1 are complete, but were never acked"},
		{"that is possible when the leader changed", cluster.Counters{EvalsCreated: 3, EvalsCanceled: 1, EvalsFailed: 1},
			seen{flushes: 1}, true, "0 processed"},
		{"one was processed and shed", cluster.Counters{EvalsCreated: 3, EvalsProcessed: 2, EvalsCanceled: 1, EvalsFailed: 1},
			seen{acks: 2, acked: map[evalKey]struct{}{keyOf("a"): {}, keyOf("b"): {}}}, false, "1 were both processed and canceled"},
		{"one was acked that never was", good,
			seen{acks: 1, acked: map[evalKey]struct{}{keyOf("x"): {}}, flushes: 1}, false, "1 evaluations were acked, of which state holds 0"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			r := checker()
			r.checkConserved(store.Snapshot(), c.counts, c.seen)
			wantCheck(t, r.checks, InvariantConserved, c.ok, c.want)
		})
	}
}

func TestOneInFlightIsJudged(t *testing.T) {
	r := checker()
	r.checkOneInFlight(seen{acks: 7})
	wantCheck(t, r.checks, InvariantOneInFlight, true, "7 acks")
	r = checker()
	r.checkOneInFlight(seen{acks: 7, twice: 2, first: "b beside a"})
	wantCheck(t, r.checks, InvariantOneInFlight, false, "2 evaluations", "b beside a")
}

func TestServersThatDiffer(t *testing.T) {
	same, other := state.New(), state.New()
	for i, s := range []*state.Store{same, other} {
		must(t, s.Update(10, func(tx *state.Tx) error {
			return tx.UpsertEvals(eval("a", "j", []string{broker.StatusComplete, broker.StatusPending}[i]))
		}))
	}
	r := checker()
	r.checkServersSame([]*state.Snapshot{same.Snapshot(), same.Snapshot(), same.Snapshot()})
	wantCheck(t, r.checks, InvariantServersSame, true, "3 servers at index 10")
	r = checker()
	r.checkServersSame([]*state.Snapshot{same.Snapshot(), same.Snapshot(), other.Snapshot()})
	wantCheck(t, r.checks, InvariantServersSame, false, "servers 1 and 3 differ", "evaluation a")
}
