package broker_test

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"weak"

	"github.com/simctl/simctl/broker"
)

func TestPolicyByName(t *testing.T) {
	names := broker.PolicyNames()
	if !slices.Equal(names[:2], []string{"legacy", "shedding"}) {
		t.Errorf("names %v: legacy and shedding must come first", names)
	}
	for _, name := range names {
		p, err := broker.PolicyByName(name)
		if err != nil || p.String() != name {
			t.Errorf("%q gives %v, %v", name, p, err)
		}
	}
	for _, tt := range []struct{ name, want string }{
		{"sheding", `unknown broker policy "sheding": use legacy`},
		{"", `unknown broker policy ""`},
		{"shedding+", `unknown or repeated change ""`},
		{"shedding+leak", `"leak": use ` + broker.PolicySyntax()},
		{"shedding+leak", `if need be with changes, as in shedding+dedup-leak: oldest-first,`},
		{"shedding+oldest-first+newest-first", `unknown or repeated change "newest-first"`},
		{"legacy+dedup-leak+dedup-leak", `unknown or repeated change "dedup-leak"`},
	} {
		if p, err := broker.PolicyByName(tt.name); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q gives %v, %v; want an error with %s", tt.name, p, err, tt.want)
		}
	}
}

// TestPolicySyntax: the phrase has every policy and every change.
func TestPolicySyntax(t *testing.T) {
	phrase := broker.PolicySyntax()
	for _, words := range []string{
		"legacy", "shedding", "changes, as in", "oldest-first, newest-first, priority-first, ack-keeps-all, ack-keeps-best, ack-keeps-none, " +
			"enqueue-keeps-best, enqueue-keeps-none, last-slot-peek, dedup-leak, silent-timings",
	} {
		if !strings.Contains(phrase, words) {
			t.Errorf("%q does not have %q", phrase, words)
		}
	}
}

// TestPolicyChanges puts policies together from words, in whatever order.
func TestPolicyChanges(t *testing.T) {
	for _, tt := range []struct{ name, canonical string }{
		{"shedding+silent-timings+dedup-leak", "shedding+dedup-leak+silent-timings"},
		{"legacy+enqueue-keeps-best+priority-first", "legacy+priority-first+enqueue-keeps-best"},
		{"legacy+last-slot-peek+ack-keeps-none", "legacy+ack-keeps-none+last-slot-peek"},
	} {
		p, err := broker.PolicyByName(tt.name)
		if err != nil || p.String() != tt.canonical {
			t.Errorf("%q gives %v, %v; want %s", tt.name, p, err, tt.canonical)
			continue
		}
		if again, err := broker.PolicyByName(tt.canonical); err != nil || again != p {
			t.Errorf("%q and %q give different policies", tt.name, tt.canonical)
		}
	}
}

func TestWithQuirks(t *testing.T) {
	if p, err := broker.PolicyByName("legacy"); err != nil || p != broker.Legacy() {
		t.Errorf("the policy without changes is %#v (%v)", p, err)
	}
	if p := broker.WithQuirks(broker.Legacy(), 0); p != broker.Legacy() {
		t.Errorf("no quirks make %v of legacy", p)
	}
	twice := broker.WithQuirks(broker.WithQuirks(broker.Shedding(), broker.DedupLeak), broker.LastSlotPeek)
	if got, want := twice.String(), "shedding+dedup-leak+last-slot-peek"; got != want {
		t.Errorf("name %q, want %q", got, want)
	}
}

// custom is a policy made of functions, the order being that of shedding.
type custom struct {
	broker.Policy
	shed func(p broker.PendingEvaluations) []*broker.Evaluation
}

func (custom) String() string { return "custom" }
func (c custom) Shed(p broker.PendingEvaluations) []*broker.Evaluation {
	return c.shed(p)
}

// TestPendingEvaluations does with a job's pending evaluations, which are p1, the worst,
// to pN, the best, what a policy may do.
func TestPendingEvaluations(t *testing.T) {
	odd := func(e *broker.Evaluation) bool { return e.ModifyIndex%2 == 1 }
	for _, tt := range []struct {
		name string
		n    int
		acks int // that pop the best, and so sort the rest, before shed is called
		shed func(t *testing.T, p broker.PendingEvaluations) []*broker.Evaluation
		gone string // what the reaper gets, sorted
		left string // the rest, in the order of delivery
	}{
		{"look only", 3, 0, func(t *testing.T, p broker.PendingEvaluations) []*broker.Evaluation {
			if p.Len() != 3 || len(slices.Collect(p.All())) != 3 {
				t.Errorf("%d pending, %v", p.Len(), slices.Collect(p.All()))
			}
			for range p.All() {
				break
			}
			return nil
		}, "", "p3 p2 p1"},
		{"remove all", 2, 0, func(t *testing.T, p broker.PendingEvaluations) []*broker.Evaluation {
			removed := p.RemoveFunc(func(*broker.Evaluation) bool { return true })
			if p.Len() != 0 || p.KeepBest() != nil || len(slices.Collect(p.All())) != 0 {
				t.Error("an empty set gave something")
			}
			return removed
		}, "p1 p2", ""},
		{"remove some", 5, 0, func(_ *testing.T, p broker.PendingEvaluations) []*broker.Evaluation {
			return p.RemoveFunc(odd)
		}, "p1 p3 p5", "p4 p2"},
		{"remove some of the sorted", 100, 1, func(_ *testing.T, p broker.PendingEvaluations) []*broker.Evaluation {
			return p.RemoveFunc(func(e *broker.Evaluation) bool { return e.ModifyIndex < 97 })
		}, "", "p100 p99 p98 p97"},
		{"keep the best", 4, 0, func(_ *testing.T, p broker.PendingEvaluations) []*broker.Evaluation {
			return p.KeepBest()
		}, "p1 p2 p3", "p4"},
		{"keep the best of one", 1, 0, func(_ *testing.T, p broker.PendingEvaluations) []*broker.Evaluation {
			return p.KeepBest()
		}, "", "p1"},
		{"keep the best of the sorted", 200, 1, func(_ *testing.T, p broker.PendingEvaluations) []*broker.Evaluation {
			return p.KeepBest()
		}, "", "p200 p199"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			calls := 0
			b := broker.New(broker.Config{Policy: custom{broker.Shedding(), func(p broker.PendingEvaluations) []*broker.Evaluation {
				if calls++; calls != tt.acks+1 {
					return nil
				}
				return tt.shed(t, p)
			}}})
			now := time.Unix(0, 0)
			b.SetEnabled(now, true)
			for i := range tt.n + 1 {
				b.Enqueue(now, &broker.Evaluation{ID: fmt.Sprintf("p%d", i), JobID: "j", ModifyIndex: uint64(i)})
			}
			var left []string
			for {
				e, token, err := b.Dequeue(now, []string{""})
				if err != nil || e == nil {
					break
				}
				left = append(left, e.ID)
				if _, err := b.Ack(now, e.ID, token); err != nil {
					t.Fatal(err)
				}
				check(t, b)
			}
			if got := strings.Join(left[1:], " "); got != tt.left {
				t.Errorf("left: %q, want %q", got, tt.left)
			}
			var gone []string
			for _, e := range b.Cancelable(1000) {
				gone = append(gone, e.ID)
			}
			slices.Sort(gone)
			if got := strings.Join(gone, " "); tt.gone != "" && got != tt.gone {
				t.Errorf("gone: %q, want %q", got, tt.gone)
			}
			if len(gone)+len(left) != tt.n+1 {
				t.Errorf("%d gone and %d left of %d", len(gone), len(left), tt.n+1)
			}
			check(t, b)
		})
	}
}

// eager sheds whenever an evaluation becomes pending.
type eager struct{ broker.Policy }

func (eager) ShedOnEnqueue(p broker.PendingEvaluations) []*broker.Evaluation { return p.KeepBest() }

// TestShedOnEnqueue has at most one pending evaluation, whose ID and those of the shed
// ones stay known.
func TestShedOnEnqueue(t *testing.T) {
	for _, n := range []int{3, 200} {
		b := broker.New(broker.Config{Policy: eager{broker.Shedding()}})
		now := time.Unix(0, 0)
		b.SetEnabled(now, true)
		for range 2 {
			for i := range n {
				b.Enqueue(now, &broker.Evaluation{ID: fmt.Sprintf("p%d", i), JobID: "j", ModifyIndex: uint64(i)})
				check(t, b)
			}
		}
		if st := b.Stats(); st.Ready != 1 || st.Pending != 1 || st.Cancelable != n-2 {
			t.Errorf("of %d: %+v", n, st)
		}
	}
}

// TestCancelableOwnership appends to a batch, which must not reach the next one, and drops a batch,
// which the broker must not hold.
func TestCancelableOwnership(t *testing.T) {
	for _, n := range []int{10, 200} {
		b := broker.New(broker.Config{Policy: broker.Shedding()})
		now := time.Unix(0, 0)
		b.SetEnabled(now, true)
		for i := range n {
			b.Enqueue(now, &broker.Evaluation{ID: fmt.Sprintf("p%d", i), JobID: "j", ModifyIndex: uint64(i)})
		}
		e, token, _ := b.Dequeue(now, []string{""})
		if _, err := b.Ack(now, e.ID, token); err != nil {
			t.Fatal(err)
		}
		first := b.Cancelable(3)
		_ = append(first, &broker.Evaluation{ID: "foreign"})
		dropped := weak.Make(b.Cancelable(1)[0])
		if runtime.GC(); dropped.Value() != nil {
			t.Errorf("of %d: the broker holds an evaluation that was taken", n)
		}
		for _, e := range b.Cancelable(n) {
			if e.ID == "foreign" {
				t.Errorf("of %d: a batch's new element is in the next batch", n)
			}
		}
	}
}

// TestDefaults holds the zero Config to Nomad's defaults, as its documentation does.
func TestDefaults(t *testing.T) {
	b := broker.New(broker.Config{})
	now := time.Unix(0, 0)
	b.SetEnabled(now, true)
	b.Enqueue(now, &broker.Evaluation{ID: "e", JobID: "j", Type: "batch"})
	seen := map[string]bool{}
	for attempt, delay := range []time.Duration{time.Second, 20 * time.Second, 0} {
		e, token, err := b.Dequeue(now, []string{"batch"})
		if err != nil || e == nil || seen[token] || len(token) != 36 {
			t.Fatalf("delivery %d: %v, token %q, %v", attempt, e, token, err)
		}
		seen[token] = true
		if at, _ := b.NextDeadline(); at.Sub(now) != time.Minute {
			t.Errorf("the nack timeout is %v", at.Sub(now))
		}
		now = now.Add(time.Minute)
		b.Advance(now)
		if at, ok := b.NextDeadline(); ok != (delay > 0) || ok && at.Sub(now) != delay {
			t.Errorf("delay after delivery %d: %v, want %v", attempt, at.Sub(now), delay)
		}
		now = now.Add(delay)
		b.Advance(now)
	}
	if st := b.Stats(); st.Failed != 1 || !b.HasReady() || !b.Enabled() {
		t.Errorf("after three deliveries: %+v", st)
	}
}
