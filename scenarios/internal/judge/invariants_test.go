package judge

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/uuid"
	"github.com/simctl/simctl/metrics"
)

func wantCheck(t *testing.T, c metrics.Invariant, name string, ok bool, parts ...string) {
	t.Helper()
	if c.Name != name || c.OK != ok {
		t.Errorf("%q is %v: %s; want that %q is %v", c.Name, c.OK, c.Detail, name, ok)
	}
	for _, p := range parts {
		if !strings.Contains(c.Detail, p) {
			t.Errorf("%q does not say %q: %s", name, p, c.Detail)
		}
	}
}

// job is a job as the catalogue's files make them.
func job(kind string, i, count int) *rpc.Job {
	return &rpc.Job{
		Namespace: rpc.DefaultNamespace, ID: fmt.Sprintf("%s-%03d", kind, i), Type: kind, Priority: 50, Datacenters: []string{"dc1"},
		TaskGroups: []rpc.TaskGroup{{Name: "group", Count: count, Resources: allocResources}},
	}
}

var allocResources = rpc.Resources{CPUMHz: 20, MemoryMB: 32, DiskMB: 10}

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

func ackedOf(ids ...string) (set uuid.Set) {
	for _, id := range ids {
		set.Add(id)
	}
	return set
}

func TestConservation(t *testing.T) {
	store := state.New()
	must(t, store.Update(10, func(tx *state.Tx) error {
		return tx.UpsertEvals(
			eval("a", "j", broker.StatusComplete), eval("b", "j", broker.StatusCanceled), eval("c", "j", broker.StatusFailed))
	}))
	acked := ackedOf("a")
	good := cluster.Counters{EvalsCreated: 3, EvalsProcessed: 1, EvalsCanceled: 1, EvalsFailed: 1}
	cases := []struct {
		name   string
		counts cluster.Counters
		inHand int
		seen   Seen
		ok     bool
		want   string
	}{
		{"all accounts agree", good, 0, Seen{acks: 1, acked: acked}, true, "3 created = 1 complete + 1 canceled + 1 failed + 0 blocked + 0 pending; 1 processed"},
		{"one vanished", cluster.Counters{EvalsCreated: 4, EvalsProcessed: 1, EvalsCanceled: 1, EvalsFailed: 1}, 0,
			Seen{acks: 1, acked: acked}, false, "state holds 3, but 4 were created"},
		{"one was canceled unseen", cluster.Counters{EvalsCreated: 3, EvalsProcessed: 1, EvalsFailed: 1}, 0,
			Seen{acks: 1, acked: acked}, false, "state holds 1 canceled, but 0 were canceled"},
		{"one failed unseen", cluster.Counters{EvalsCreated: 3, EvalsProcessed: 1, EvalsCanceled: 1}, 0,
			Seen{acks: 1, acked: acked}, false, "state holds 1 failed, but 0 failed"},
		{"an ack was counted twice", cluster.Counters{EvalsCreated: 3, EvalsProcessed: 2, EvalsCanceled: 1, EvalsFailed: 1}, 0,
			Seen{acks: 1, acked: acked}, false, "1 ack was seen, but 2 evaluations processed"},
		{"one completed without a worker", cluster.Counters{EvalsCreated: 3, EvalsCanceled: 1, EvalsFailed: 1}, 0,
			Seen{}, false, "1 is complete, but was never acked"},
		{"its worker has yet to ack it", cluster.Counters{EvalsCreated: 3, EvalsCanceled: 1, EvalsFailed: 1}, 1,
			Seen{}, true, "0 processed"},
		{"that is possible when the leader changed", cluster.Counters{EvalsCreated: 3, EvalsCanceled: 1, EvalsFailed: 1}, 0,
			Seen{flushes: 1}, true, "0 processed"},
		{"one was processed and shed", cluster.Counters{EvalsCreated: 3, EvalsProcessed: 2, EvalsCanceled: 1, EvalsFailed: 1}, 0,
			Seen{acks: 2, acked: ackedOf("a", "b")}, false, "1 was both processed and canceled"},
		{"one was acked that never was", good, 0,
			Seen{acks: 1, acked: ackedOf("x"), flushes: 1}, false, "1 evaluation was acked, of which state holds 0"},
	}
	back := eval("b", "j", broker.StatusCanceled)
	back.StatusDescription = state.DescReturned
	after := state.New()
	must(t, after.Update(10, func(tx *state.Tx) error { return tx.UpsertEvals(eval("a", "j", broker.StatusComplete), back) }))
	for _, failed := range []uint64{0, 1} {
		counts := cluster.Counters{EvalsCreated: 2, EvalsProcessed: 2, EvalsCanceled: 1, EvalsFailed: failed}
		wantCheck(t, Conserved(after.Snapshot(), cluster.Stats{Counters: counts}, Seen{acks: 2, acked: ackedOf("a", "b")}), InvariantConserved, true, "1 canceled + 0 failed")
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := Conserved(store.Snapshot(), cluster.Stats{Counters: c.counts, Broker: broker.Stats{Unacked: c.inHand}}, c.seen).Detail; strings.HasSuffix(got, " collected") || strings.Contains(got, "; but") == c.ok {
				t.Errorf("nothing was collected, and in order is %v: %s", c.ok, got)
			}
			wantCheck(t, Conserved(store.Snapshot(), cluster.Stats{Counters: c.counts, Broker: broker.Stats{Unacked: c.inHand}}, c.seen), InvariantConserved, c.ok, c.want)
		})
	}
}

// TestCollectedAndUnblocked: what was collected is missing from the state, up to as many; and one
// that waited for room may be canceled after it was processed.
func TestCollectedAndUnblocked(t *testing.T) {
	store := state.New()
	waited := func(id, trigger string) *broker.Evaluation {
		e := eval(id, "j", broker.StatusCanceled)
		e.TriggeredBy = trigger
		return e
	}
	must(t, store.Update(10, func(tx *state.Tx) error {
		return tx.UpsertEvals(waited("room", broker.TriggeredByQueuedAllocs), waited("plans", broker.TriggeredByMaxPlans))
	}))
	seen := Seen{acks: 4, acked: ackedOf("room", "plans", "gone")}
	for _, c := range []struct {
		name   string
		counts cluster.Counters
		ok     bool
		want   string
	}{
		{"two of five were collected", cluster.Counters{EvalsCreated: 4, EvalsCollected: 2, EvalsCanceled: 3, EvalsFailed: 1, EvalsProcessed: 4}, true, "; 2 collected"},
		{"one was collected", cluster.Counters{EvalsCreated: 3, EvalsCollected: 1, EvalsCanceled: 3, EvalsProcessed: 4}, true, "; 1 collected"},
		{"as many canceled as can be", cluster.Counters{EvalsCreated: 4, EvalsCollected: 2, EvalsCanceled: 4, EvalsProcessed: 4}, true, ""},
		{"more canceled than can be", cluster.Counters{EvalsCreated: 4, EvalsCollected: 2, EvalsCanceled: 5, EvalsProcessed: 4}, false, "holds 2 canceled, but 5 were"},
		{"more failed than can have", cluster.Counters{EvalsCreated: 4, EvalsCollected: 2, EvalsCanceled: 2, EvalsFailed: 3, EvalsProcessed: 4}, false, "holds 0 failed, but 3 failed"},
		{"one less collected", cluster.Counters{EvalsCreated: 4, EvalsCollected: 1, EvalsCanceled: 2, EvalsProcessed: 4}, false, "state holds 2, but 4 were created (and 1 collected)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantCheck(t, Conserved(store.Snapshot(), cluster.Stats{Counters: c.counts}, seen), InvariantConserved, c.ok, c.want)
		})
	}
}

// TestLogs: the verdicts on the logs carry what was wrong, or how much was compared.
func TestLogs(t *testing.T) {
	good := Logs(cluster.Agreement{UpTo: 7, Acked: 5})
	wantCheck(t, good[0], InvariantLogsSame, true, "up to entry 7")
	wantCheck(t, good[1], InvariantNothingLost, true, "5 acknowledged")
	bad := Logs(cluster.Agreement{Logs: errors.New("entry 3 differs"), Lost: errors.New("entry 4 is lost")})
	wantCheck(t, bad[0], InvariantLogsSame, false, "entry 3 differs")
	wantCheck(t, bad[1], InvariantNothingLost, false, "entry 4 is lost")
}

// TestNonePending: an evaluation left in the broker, or in state only, fails the run; those that
// wait for a time count by the state, and those of garbage collection not at all.
func TestNonePending(t *testing.T) {
	collecting := broker.Stats{Ready: 1, Unacked: 2, ByScheduler: map[string]broker.SchedulerStats{rpc.JobTypeCore: {Ready: 1, Unacked: 2}}}
	for _, c := range []struct {
		name  string
		stats cluster.Stats
		ok    bool
		want  string
	}{
		{"nothing", cluster.Stats{}, true, "0 in the broker, 0 pending in state"},
		{"in state only", cluster.Stats{StatePending: 1}, false, "0 in the broker, 1 pending in state"},
		{"ready", cluster.Stats{Broker: broker.Stats{Ready: 1}}, false, "1 in the broker"},
		{"with a worker", cluster.Stats{Broker: broker.Stats{Unacked: 1}}, false, "1 in the broker"},
		{"pending", cluster.Stats{Broker: broker.Stats{Pending: 1}}, false, "1 in the broker"},
		{"shed", cluster.Stats{Broker: broker.Stats{Cancelable: 1}}, false, "1 in the broker"},
		{"of garbage collection", cluster.Stats{Broker: collecting}, true, "0 in the broker"},
	} {
		t.Run(c.name, func(t *testing.T) { wantCheck(t, NonePending(c.stats), InvariantNonePending, c.ok, c.want) })
	}
}

// TestInBroker: each place counts, and none twice.
func TestInBroker(t *testing.T) {
	s := cluster.Stats{Broker: broker.Stats{
		Ready: 1000, Unacked: 200, Pending: 30, Cancelable: 4, Waiting: 50000,
		ByScheduler: map[string]broker.SchedulerStats{rpc.JobTypeCore: {Ready: 100, Unacked: 10}, rpc.JobTypeSystem: {Ready: 900, Unacked: 190}},
	}}
	if got := inBroker(s); got != 1124 {
		t.Errorf("%d in the broker, want 1124", got)
	}
}

func TestOneInFlightIsJudged(t *testing.T) {
	wantCheck(t, OneInFlight(Seen{acks: 7, twice: 1, first: "b beside a"}), InvariantOneInFlight, false, "1 evaluation was in flight", "b beside a")
	wantCheck(t, OneInFlight(Seen{acks: 7}), InvariantOneInFlight, true, "7 acks")
	wantCheck(t, OneInFlight(Seen{acks: 7, twice: 2, first: "b beside a"}), InvariantOneInFlight, false, "2 evaluations", "b beside a")
}

func TestServersThatDiffer(t *testing.T) {
	same, other := state.New(), state.New()
	for i, s := range []*state.Store{same, other} {
		must(t, s.Update(10, func(tx *state.Tx) error {
			return tx.UpsertEvals(eval("a", "j", []string{broker.StatusComplete, broker.StatusPending}[i]))
		}))
	}
	calls := 0
	alive := func() { calls++ }
	wantCheck(t, ServersSame([]*state.Snapshot{same.Snapshot()}, alive), InvariantServersSame, true, "1 server at index 10")
	if calls != 1 {
		t.Errorf("alive was called %d times for one server, want once", calls)
	}
	equal := state.New() // not the same snapshot, but the same state
	must(t, equal.Update(10, func(tx *state.Tx) error { return tx.UpsertEvals(eval("a", "j", broker.StatusComplete)) }))
	wantCheck(t, ServersSame([]*state.Snapshot{same.Snapshot(), equal.Snapshot()}, alive), InvariantServersSame, true, "2 servers at index 10")
	wantCheck(t, ServersSame([]*state.Snapshot{other.Snapshot(), same.Snapshot(), same.Snapshot()}, alive), InvariantServersSame, false, "servers 1 and 2 differ", "evaluation a")
	wantCheck(t, ServersSame([]*state.Snapshot{same.Snapshot(), same.Snapshot(), same.Snapshot()}, alive), InvariantServersSame, true, "3 servers at index 10")
	wantCheck(t, ServersSame([]*state.Snapshot{same.Snapshot(), same.Snapshot(), other.Snapshot()}, alive), InvariantServersSame, false, "servers 1 and 3 differ", "evaluation a")
	paused := state.New() // the same rows, but another configuration
	must(t, paused.Update(10, func(tx *state.Tx) error {
		tx.SetSchedulerConfig(rpc.SchedulerConfig{PauseEvalBroker: true})
		return tx.UpsertEvals(eval("a", "j", broker.StatusComplete))
	}))
	wantCheck(t, ServersSame([]*state.Snapshot{same.Snapshot(), equal.Snapshot(), paused.Snapshot()}, alive), InvariantServersSame, false, "servers 1 and 3 have the same rows at index 10")
	behind := same.Snapshot()
	must(t, same.Update(11, func(tx *state.Tx) error { return nil }))
	wantCheck(t, ServersSame([]*state.Snapshot{behind, same.Snapshot(), same.Snapshot()}, alive), InvariantServersSame, false, "servers 1 and 2 differ, at index 10 and 11")
}

// TestNoneWritten: servers that write no evaluations may hold none, and count acks as the
// observer does.
func TestNoneWritten(t *testing.T) {
	empty, one := state.New(), state.New()
	if err := one.Update(1, func(tx *state.Tx) error { return tx.UpsertEvals(&broker.Evaluation{ID: "e"}) }); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		store  *state.Store
		counts cluster.Counters
		ok     bool
	}{
		{empty, cluster.Counters{EvalsProcessed: 3}, true},
		{empty, cluster.Counters{EvalsProcessed: 2}, false},
		{empty, cluster.Counters{EvalsProcessed: 3, EvalsCreated: 1}, false},
		{one, cluster.Counters{EvalsProcessed: 3}, false},
	} {
		wantCheck(t, NoneWritten(c.store.Snapshot(), cluster.Stats{Counters: c.counts}, Seen{acks: 3}), InvariantConserved, c.ok, "3 acks")
	}
}
