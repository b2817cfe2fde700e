package workqueue

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
)

// rig is a queue whose clock goes on by a second with every call.
type rig struct {
	*testing.T
	q     *Queue
	now   time.Time
	token string
}

func newRig(t *testing.T) *rig {
	r := &rig{T: t, now: time.Unix(1000, 0), q: New(broker.Config{Rand: rand.New(rand.NewPCG(1, 1)), DeliveryLimit: 1})}
	r.q.SetEnabled(r.now, true)
	return r
}

func (r *rig) call(job string, index uint64, wait time.Duration) {
	r.now = r.now.Add(time.Second)
	r.q.Enqueue(r.now, &broker.Evaluation{
		ID: fmt.Sprintf("eval-%d", index), Namespace: "default", JobID: job, Type: "service", Priority: 50,
		TriggeredBy: broker.TriggeredByNodeUpdate, NodeID: "node", Status: broker.StatusBlocked, Wait: wait, ModifyIndex: index,
	})
}

// take says what is delivered, as "ID @index after time".
func (r *rig) take(want string) {
	r.Helper()
	r.now = r.now.Add(time.Second)
	d, err := r.q.Deliver(r.now, []string{"service"})
	got := "nothing"
	if d.Eval != nil {
		got = fmt.Sprintf("%s @%d after %v", d.Eval.ID, d.Eval.ModifyIndex, d.Waited)
		r.token = d.Token
	}
	if err != nil || got != want {
		r.Fatalf("delivered %s, %v; want %s", got, err, want)
	}
}

// ack ends the delivery, which stood for so many calls besides itself.
func (r *rig) ack(id string, others int) {
	r.Helper()
	r.now = r.now.Add(time.Second)
	if res, err := r.q.Ack(r.now, id, r.token); err != nil || res.Shed != others {
		r.Fatalf("ack of %s: %d others, %v; want %d", id, res.Shed, err, others)
	}
}

func TestManyCallsAreOneDelivery(t *testing.T) {
	r := newRig(t)
	for _, index := range []uint64{7, 9, 8} {
		r.call("a", index, 0)
	}
	r.take("default/a @9 after 3s")
	r.take("nothing")
	r.ack("default/a", 2)
	r.take("nothing")
	r.call("a", 11, 0)
	r.take("default/a @11 after 1s")
}

func TestCallsDuringARunAreOneMore(t *testing.T) {
	r := newRig(t)
	r.call("a", 7, 0)
	r.take("default/a @7 after 1s")
	r.call("a", 8, 0)
	r.call("a", 9, 0)
	r.take("nothing")
	r.ack("default/a", 0)
	r.take("default/a @9 after 4s")
	r.ack("default/a", 1)
	r.take("nothing")
}

// TestNackKeepsCalls: what was called for during a run that failed is part of the next one,
// which comes however often runs fail.
func TestNackKeepsCalls(t *testing.T) {
	r := newRig(t)
	r.call("a", 7, 0)
	r.take("default/a @7 after 1s")
	r.call("a", 9, 0)
	for try := range 4 {
		if err := r.q.Nack(r.now, "default/a", r.token); err != nil {
			t.Fatal(err)
		}
		next, ok := r.q.NextDeadline()
		if !ok {
			t.Fatalf("nothing comes after %d failures", try+1)
		}
		r.now = next
		r.q.Advance(r.now)
		d, err := r.q.Deliver(r.now, []string{"service"})
		if err != nil || d.Eval == nil || d.Eval.ModifyIndex != 9 {
			t.Fatalf("delivery %d is %+v, %v; want one as of index 9", try+2, d, err)
		}
		r.token = d.Token
	}
	r.ack("default/a", 1)
}

// TestWaitIsKept: what waits for a time is delivered as itself, since its index says less than
// its job's, beside what else is called for.
func TestWaitIsKept(t *testing.T) {
	r := newRig(t)
	r.call("a", 7, 10*time.Second)
	r.take("nothing")
	r.call("a", 9, 0)
	r.take("default/a @9 after 1s")
	r.now = r.now.Add(10 * time.Second)
	r.q.Advance(r.now)
	r.take("nothing") // its job is busy
	r.call("a", 12, 0)
	r.ack("default/a", 0)
	r.take("eval-7 @12 after 2s")
	r.ack("eval-7", 1)
	r.take("default/a @12 after 3s")
	r.ack("default/a", 0)
}

func TestDisabledQueueForgets(t *testing.T) {
	r := newRig(t)
	r.call("a", 7, 0)
	r.q.SetEnabled(r.now, false)
	r.call("a", 8, 0)
	r.q.SetEnabled(r.now, true)
	r.take("nothing")
	r.call("a", 9, 0)
	r.take("default/a @9 after 1s")
}

func TestJobsOfNamespacesDiffer(t *testing.T) {
	r := newRig(t)
	r.call("a", 7, 0)
	r.q.Enqueue(r.now, &broker.Evaluation{ID: "x", Namespace: "other", JobID: "a", Type: "service", ModifyIndex: 7})
	if s := r.q.Stats(); s.Ready != 2 {
		t.Errorf("%d ready, want both jobs", s.Ready)
	}
}
