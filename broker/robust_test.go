package broker_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
)

// FuzzNoPanic sends the broker what nobody should: nil evaluations, IDs shared by jobs,
// empty names, time that goes back, negative limits. It must not panic, and no state
// may break the invariants.
//
//	go test ./broker -fuzz FuzzNoPanic -fuzztime 60s
func FuzzNoPanic(f *testing.F) {
	f.Fuzz(func(t *testing.T, input []byte) {
		c := &byteChoices{input}
		names := []string{"", "a", "b", "c"}
		name := func() string { return names[c.Choose(len(names))] }
		policies := broker.PolicyNames()
		policy, err := broker.PolicyByName(policies[c.Choose(len(policies))])
		if err != nil {
			t.Fatal(err)
		}
		b := broker.New(broker.Config{
			Policy:              policy,
			NackTimeout:         time.Duration(c.Choose(4)-1) * time.Second,
			InitialNackDelay:    time.Duration(c.Choose(4)-1) * time.Second,
			SubsequentNackDelay: time.Duration(c.Choose(4)-1) * time.Second,
			DeliveryLimit:       c.Choose(4) - 1,
			Rand:                rand.New(rand.NewPCG(1, 2)),
		})
		now := time.Time{}
		tokens := []string{"", "wrong"}
		token := func() string { return tokens[len(tokens)-1-c.Choose(len(tokens))] }
		evaluation := func() *broker.Evaluation {
			if c.Choose(10) == 0 {
				return nil
			}
			return &broker.Evaluation{
				ID: name(), Namespace: name(), JobID: name(), Type: name(),
				Priority: c.Choose(3) - 1, CreateIndex: uint64(c.Choose(3)), ModifyIndex: uint64(c.Choose(3)),
				Wait: time.Duration(c.Choose(4)-2) * time.Second,
			}
		}
		b.SetEnabled(now, true)
		for len(c.rest) > 0 {
			now = now.Add(time.Duration(c.Choose(5)-1) * time.Second)
			switch c.Choose(14) {
			case 0, 1, 2:
				b.Enqueue(now, evaluation())
			case 3:
				b.EnqueueAll(now, []broker.EvalToken{{Eval: evaluation(), Token: token()}, {}, {Eval: evaluation(), Token: token()}})
			case 4, 5, 6:
				if _, tok, _ := b.Dequeue(now, []string{name(), name(), broker.FailedQueue}); tok != "" {
					tokens = append(tokens, tok)
				}
			case 7:
				_, _ = b.Ack(now, name(), token())
			case 8:
				_ = b.Nack(now, name(), token())
			case 9:
				_ = b.OutstandingReset(now, name(), token())
				_ = b.PauseNackTimeout(now, name(), token())
			case 10:
				_ = b.ResumeNackTimeout(now, name(), token())
				b.DropWaiting(name())
			case 11:
				b.Advance(now)
				b.NextDeadline()
			case 12:
				b.Cancelable(c.Choose(5) - 2)
			case 13:
				b.SetEnabled(now, c.Choose(8) > 0)
				b = clone(b, rand.New(rand.NewPCG(1, uint64(len(c.rest)))))
			}
			check(t, b)
		}
	})
}

// check verifies the invariants, and that the counts are those of the state.
func check(t *testing.T, b *broker.EvalBroker) {
	t.Helper()
	st, stats := b.State(), b.Stats()
	if err := st.Check(); err != nil {
		t.Fatal(err)
	}
	counted := fmt.Sprint(len(st.Ready), len(st.Unacked), len(st.Waiting), len(st.Pending), len(st.Cancelable))
	said := fmt.Sprint(stats.Ready, stats.Unacked, stats.Waiting, stats.Pending, stats.Cancelable)
	if counted != said {
		t.Fatalf("ready, unacked, waiting, pending, cancelable: %s in the state, %s by the stats", counted, said)
	}
	// A job with pending evaluations has one in flight; one that waits for its time has none.
	jobs := map[broker.JobID]bool{}
	for _, h := range slices.Concat(st.Ready, st.Unacked, slices.DeleteFunc(st.Waiting, func(h broker.Held) bool { return !h.Redelivery })) {
		jobs[h.Eval.Job()] = true
	}
	for _, e := range st.Cancelable {
		jobs[e.Job()] = true
	}
	if b.Jobs() != len(jobs) {
		t.Fatalf("the broker remembers %d jobs, and has evaluations of %d", b.Jobs(), len(jobs))
	}
}
