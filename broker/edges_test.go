package broker_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
)

// enabled returns a broker that accepts evaluations.
func enabled(t *testing.T, policy string, cfg broker.Config) *broker.EvalBroker {
	t.Helper()
	var err error
	if cfg.Policy, err = broker.PolicyByName(policy); err != nil {
		t.Fatal(err)
	}
	b := broker.New(cfg)
	b.SetEnabled(cloneStart, true)
	return b
}

// deliver hands out an evaluation of no type.
func deliver(t *testing.T, b *broker.EvalBroker, now time.Time) broker.Delivery {
	t.Helper()
	d, err := b.Deliver(now, []string{""})
	if err != nil || d.Eval == nil {
		t.Fatalf("delivered %+v, %v", d, err)
	}
	return d
}

// TestWithoutLimit: what is to last for ever never ends, whenever it began.
func TestWithoutLimit(t *testing.T) {
	b := enabled(t, "legacy", broker.Config{NackTimeout: -1})
	now := cloneStart.Add(time.Hour)
	b.Enqueue(now, &broker.Evaluation{ID: "a"})
	b.Enqueue(now, &broker.Evaluation{ID: "w", JobID: "w", Wait: math.MaxInt64})
	d := deliver(t, b, now)
	now = now.Add(200 * 365 * 24 * time.Hour)
	if b.Advance(now) {
		t.Errorf("a timer fired: %+v", b.Stats())
	}
	if _, err := b.Ack(now, "a", d.Token); err != nil {
		t.Error(err)
	}
}

// TestOutstanding: only one that a worker has is outstanding, and a broker that is disabled
// says so.
func TestOutstanding(t *testing.T) {
	b := enabled(t, "legacy", broker.Config{})
	b.Enqueue(cloneStart, &broker.Evaluation{ID: "a"})
	for _, id := range []string{"a", "none"} {
		if token, ok := b.Outstanding(id); ok || token != "" {
			t.Errorf("%s is outstanding under %q", id, token)
		}
	}
	d := deliver(t, b, cloneStart)
	if token, ok := b.Outstanding("a"); !ok || token != d.Token {
		t.Errorf("a is outstanding: %v, under %q, want %q", ok, token, d.Token)
	}
	b.SetEnabled(cloneStart, false)
	if _, _, err := b.Dequeue(cloneStart, []string{""}); !errors.Is(err, broker.ErrDisabled) {
		t.Errorf("dequeue of a disabled broker: %v", err)
	}
}

// TestAnyPriority: the priority orders, and keeps nothing back.
func TestAnyPriority(t *testing.T) {
	b := enabled(t, "legacy", broker.Config{})
	for i, p := range []int{-5, 0, math.MinInt, 7} {
		b.Enqueue(cloneStart, &broker.Evaluation{ID: fmt.Sprint(p), JobID: fmt.Sprint(i), Priority: p})
	}
	for _, want := range []string{"7", "0", "-5", fmt.Sprint(math.MinInt)} {
		if d := deliver(t, b, cloneStart); d.Eval.ID != want {
			t.Errorf("delivered %s, want %s", d.Eval.ID, want)
		}
	}
}

// TestSharedID: of two jobs' evaluations of one ID, the pending one gives way to the other.
func TestSharedID(t *testing.T) {
	b := enabled(t, "legacy", broker.Config{})
	b.Enqueue(cloneStart, &broker.Evaluation{ID: "a", JobID: "a", Priority: 9})
	b.Enqueue(cloneStart, &broker.Evaluation{ID: "x", JobID: "a"})
	b.Enqueue(cloneStart, &broker.Evaluation{ID: "x", JobID: "b"})
	d := deliver(t, b, cloneStart)
	if _, err := b.Ack(cloneStart, "a", d.Token); err != nil {
		t.Fatal(err)
	}
	check(t, b)
	if st := b.Stats(); st.Ready != 1 || st.Pending != 0 {
		t.Errorf("%+v, want the one of job b ready", st)
	}
}

// TestQuirksAreApart: each quirk brings about its own defect and no other.
func TestQuirksAreApart(t *testing.T) {
	for policy, forgets := range map[string]bool{
		"shedding": true, "shedding+last-slot-peek": true, "shedding+silent-timings": true, "shedding+dedup-leak": false,
	} {
		b := enabled(t, policy, broker.Config{})
		for i := range 4 {
			b.Enqueue(cloneStart, &broker.Evaluation{ID: fmt.Sprint(i), ModifyIndex: uint64(i)})
		}
		d := deliver(t, b, cloneStart)
		if _, err := b.Ack(cloneStart, "0", d.Token); err != nil {
			t.Fatal(err)
		}
		if n := len(b.Cancelable(9)); n != 2 {
			t.Fatalf("%s: %d were shed, want 2", policy, n)
		}
		b.Enqueue(cloneStart, &broker.Evaluation{ID: "1"})
		if got := b.Stats().Pending == 1; got != forgets {
			t.Errorf("%s: an ID that was shed can be enqueued again: %v, want %v", policy, got, forgets)
		}
	}
}

// TestAckFreesItsTime: with Nomad's enqueue-time map full, what an ack ends frees a place in
// it, even an ack that comes too late.
func TestAckFreesItsTime(t *testing.T) {
	b := enabled(t, "legacy+silent-timings", broker.Config{})
	enqueue := func(id string, priority int) {
		b.Enqueue(cloneStart, &broker.Evaluation{ID: id, JobID: id, Priority: priority})
	}
	enqueue("first", 99)
	for i := range 9_999 {
		enqueue(fmt.Sprint(i), 0)
	}
	enqueue("too many", 98)
	first := deliver(t, b, cloneStart)
	late := cloneStart.Add(time.Minute)
	if _, err := b.Ack(late, "first", first.Token); !errors.Is(err, broker.ErrNackTimeoutReached) {
		t.Fatalf("a late ack: %v", err)
	}
	enqueue("in its place", 97)
	for _, want := range []bool{false, true} {
		if d := deliver(t, b, cloneStart); d.Timed != want {
			t.Errorf("%q is timed: %v, want %v", d.Eval.ID, d.Timed, want)
		}
	}
}

// TestCloneSharesNothing: what a clone draws and what it remembers is its own.
func TestCloneSharesNothing(t *testing.T) {
	source := func() *rand.Rand { return rand.New(rand.NewPCG(1, 1)) }
	b, undisturbed := enabled(t, "shedding+dedup-leak", broker.Config{Rand: source()}), enabled(t, "shedding+dedup-leak", broker.Config{Rand: source()})
	for _, b := range []*broker.EvalBroker{b, undisturbed} {
		b.Enqueue(cloneStart, &broker.Evaluation{ID: "a"})
	}
	c := clone(b, rand.New(rand.NewPCG(2, 2)))
	d := deliver(t, c, cloneStart)
	c.Enqueue(cloneStart, &broker.Evaluation{ID: "shed", ModifyIndex: 1})
	c.Enqueue(cloneStart, &broker.Evaluation{ID: "kept", ModifyIndex: 2})
	if res, err := c.Ack(cloneStart, "a", d.Token); err != nil || res.Shed != 1 {
		t.Fatalf("%+v, %v", res, err)
	}
	if got, want := deliver(t, b, cloneStart).Token, deliver(t, undisturbed, cloneStart).Token; got != want {
		t.Errorf("token %s after the clone drew, want %s", got, want)
	}
	b.Enqueue(cloneStart, &broker.Evaluation{ID: "shed"})
	if b.Stats().Pending != 1 {
		t.Error("the original remembers what the clone shed")
	}
}

// TestWaitUntilByAnotherClock: a time that an evaluation waits for is told by a clock that may be
// wrong; a duration is not.
func TestWaitUntilByAnotherClock(t *testing.T) {
	start := time.Unix(1e9, 0)
	for _, ahead := range []time.Duration{0, time.Minute, -time.Minute} {
		for _, c := range []struct {
			eval *broker.Evaluation
			due  time.Duration
		}{
			{&broker.Evaluation{ID: "until", JobID: "j", WaitUntil: start.Add(5 * time.Minute)}, 5*time.Minute - ahead},
			{&broker.Evaluation{ID: "wait", JobID: "j", Wait: 5 * time.Minute}, 5 * time.Minute},
		} {
			b := broker.New(broker.Config{Ahead: func() time.Duration { return ahead }})
			b.SetEnabled(start, true)
			b.Enqueue(start, c.eval)
			b.Advance(start.Add(c.due - 1))
			early := b.HasReady()
			b.Advance(start.Add(c.due))
			if early || !b.HasReady() {
				t.Errorf("%s, by a clock that is %v ahead: ready before %v: %v; then: %v", c.eval.ID, ahead, c.due, early, b.HasReady())
			}
		}
	}
}
