package broker_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
)

// TestCancel hands the reaper evaluations that the broker does not hold, some it does, and
// a batch that came from it.
func TestCancel(t *testing.T) {
	b := broker.New(broker.Config{Policy: broker.Shedding()})
	now := time.Unix(0, 0)
	eval := func(job string, n int) *broker.Evaluation {
		return &broker.Evaluation{ID: fmt.Sprintf("%s%d", job, n), JobID: job, ModifyIndex: uint64(n)}
	}
	b.Cancel([]*broker.Evaluation{eval("a", 1)})
	if n := b.Stats().Cancelable; n != 0 {
		t.Fatalf("a disabled broker has %d cancelable evaluations", n)
	}
	b.SetEnabled(now, true)
	b.Enqueue(now, eval("a", 1))
	b.Enqueue(now, eval("a", 2))
	b.Cancel([]*broker.Evaluation{eval("a", 1), eval("a", 2), eval("a", 3), nil, eval("b", 1), eval("a", 4)})
	check(t, b)
	if st := b.Stats(); st.Cancelable != 3 || st.Ready != 1 || st.Pending != 1 {
		t.Fatalf("%+v: want a3, b1 and a4 cancelable, a1 ready, a2 pending", st)
	}
	if b.Queued(broker.JobID{ID: "b"}) {
		t.Error("a job that has nothing but a cancelable evaluation is queued")
	}
	b.Enqueue(now, eval("a", 3)) // its ID is known until the reaper has taken it
	if st := b.Stats(); st.Pending != 1 {
		t.Fatalf("%+v: a3 became pending although it is to be canceled", st)
	}
	batch := b.Cancelable(2)
	b.Enqueue(now, eval("a", 4)) // and so is that of one which the reaper has not taken with the batch
	if st := b.Stats(); st.Pending != 1 {
		t.Fatalf("%+v: a4 became pending although it is to be canceled", st)
	}
	b.Cancel(batch)
	check(t, b)
	if n := b.Stats().Cancelable; len(batch) != 2 || n != 3 {
		t.Fatalf("%d cancelable after a batch of %d came back, want 3", n, len(batch))
	}
	b.Cancelable(10)
	check(t, b)
	b.Enqueue(now, eval("a", 3))
	if st := b.Stats(); st.Pending != 2 || st.Cancelable != 0 {
		t.Fatalf("%+v: a3 is not known any more, and becomes pending", st)
	}
}

// TestQueued follows a job through a delivery.
func TestQueued(t *testing.T) {
	b := broker.New(broker.Config{})
	now := time.Unix(0, 0)
	b.SetEnabled(now, true)
	job := broker.JobID{ID: "a"}
	want := func(queued bool, when string) {
		t.Helper()
		if b.Queued(job) != queued {
			t.Errorf("%s: queued is %v", when, !queued)
		}
	}
	want(false, "before the first")
	b.Enqueue(now, &broker.Evaluation{ID: "a1", JobID: "a"})
	want(true, "ready")
	_, token, err := b.Dequeue(now, []string{""})
	if err != nil {
		t.Fatal(err)
	}
	want(false, "unacked")
	b.Enqueue(now, &broker.Evaluation{ID: "a2", JobID: "a"})
	want(true, "one unacked, one pending")
	if _, err := b.Ack(now, "a1", token); err != nil {
		t.Fatal(err)
	}
	want(true, "the second ready")
}
