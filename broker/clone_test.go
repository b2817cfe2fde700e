package broker_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
)

// TestClone copies brokers that hold much in every place, empties the copy, and verifies
// that the original still does what an undisturbed one does.
func TestClone(t *testing.T) {
	for _, name := range broker.PolicyNames() {
		t.Run(name, func(t *testing.T) {
			policy, err := broker.PolicyByName(name)
			if err != nil {
				t.Fatal(err)
			}
			b, undisturbed := loaded(t, policy), loaded(t, policy)
			into := loaded(t, broker.Legacy())
			b.CloneInto(into, rand.New(rand.NewPCG(5, 5)))
			for i, c := range []*broker.EvalBroker{clone(b, rand.New(rand.NewPCG(4, 4))), into} {
				if diff := firstDifference(emptied(t, c), emptied(t, loaded(t, policy))); diff != "" {
					t.Errorf("clone %d drains differently: %s", i, diff)
				}
			}
			if diff := firstDifference(emptied(t, b), emptied(t, undisturbed)); diff != "" {
				t.Errorf("the original drains differently after its clones: %s", diff)
			}
		})
	}
}

func clone(b *broker.EvalBroker, r *rand.Rand) *broker.EvalBroker {
	c := new(broker.EvalBroker)
	b.CloneInto(c, r)
	return c
}

func firstDifference(got, want []string) string {
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			return fmt.Sprintf("at %d: %q, want %q", i, got[min(i, len(got)):min(i+1, len(got))], want[min(i, len(want)):min(i+1, len(want))])
		}
	}
	return ""
}

var cloneStart = time.Unix(0, 0)

// loaded returns a broker amid its work: two jobs with many pending evaluations, some of
// them acked and shed, one delivery of each kind out, and some waiting.
func loaded(t *testing.T, p broker.Policy) *broker.EvalBroker {
	t.Helper()
	b := broker.New(broker.Config{Policy: p, Rand: rand.New(rand.NewPCG(1, 1))})
	b.SetEnabled(cloneStart, true)
	for i := range 400 {
		b.Enqueue(cloneStart, &broker.Evaluation{
			ID: fmt.Sprintf("e%d", i), JobID: fmt.Sprintf("j%d", i%2), Type: "service",
			CreateIndex: uint64(i), ModifyIndex: uint64(i),
		})
	}
	for i := range 5 {
		e, token, err := b.Dequeue(cloneStart, []string{"service"})
		if err != nil || e == nil {
			t.Fatalf("dequeue: %v, %v", e, err)
		}
		if i == 4 {
			b.EnqueueAll(cloneStart, []broker.EvalToken{{Eval: e, Token: token}})
			break
		}
		if _, err := b.Ack(cloneStart, e.ID, token); err != nil {
			t.Fatal(err)
		}
		b.Enqueue(cloneStart, &broker.Evaluation{ID: fmt.Sprintf("late%d", i), JobID: e.JobID, Type: "service", CreateIndex: 1000, ModifyIndex: 1000})
	}
	b.Enqueue(cloneStart, &broker.Evaluation{ID: "wait", JobID: "k", Type: "service", Wait: time.Second})
	return b
}

// emptied works everything off and returns what happened, in order.
func emptied(t *testing.T, b *broker.EvalBroker) []string {
	t.Helper()
	var log []string
	b.Advance(cloneStart.Add(time.Hour))
	now := cloneStart.Add(2 * time.Hour)
	b.Advance(now)
	for {
		e, token, err := b.Dequeue(now, []string{"service", "batch", broker.FailedQueue})
		if err != nil {
			t.Fatal(err)
		}
		if e == nil {
			break
		}
		res, err := b.Ack(now, e.ID, token)
		if err != nil {
			t.Fatal(err)
		}
		log = append(log, fmt.Sprintf("%s shed %d", e.ID, res.Shed))
	}
	for _, e := range b.Cancelable(1000) {
		log = append(log, "canceled "+e.ID)
	}
	if st := b.Stats(); st.Ready+st.Unacked+st.Pending+st.Waiting+st.Cancelable > 0 {
		t.Errorf("left over: %+v", st)
	}
	return log
}
