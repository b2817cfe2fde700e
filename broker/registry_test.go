package broker

import (
	"slices"
	"strings"
	"testing"
)

// named is a policy of a name, of a release or of none, that may shed on enqueue.
type named struct {
	Policy
	name, release string
}

func (n named) String() string  { return n.name }
func (n named) Release() string { return n.release }

type namedShedder struct{ named }

func (namedShedder) ShedOnEnqueue(p PendingEvaluations) []*Evaluation { return p.KeepBest() }

// withRegistry runs f with no policies but those that it registers.
func withRegistry(f func()) {
	before := registry
	defer func() { registry = before }()
	registry = nil
	f()
}

// TestRegister: policies are in the order of their releases and names, whichever was
// registered first, and no name means two.
func TestRegister(t *testing.T) {
	withRegistry(func() {
		for _, n := range []named{{name: "b"}, {name: "new", release: "1.4.3"}, {name: "a"}, {name: "y", release: "1.4.2"}, {name: "x", release: "1.4.2"}} {
			n.Policy = legacy{}
			register(n, "")
		}
		got := strings.Join(registeredNames(), " ")
		last, newest := strings.Fields(got)[3:], strings.Fields(got)[:3]
		if !slices.Equal(last, []string{"a", "b"}) || slices.Index(newest, "x")+1 != slices.Index(newest, "y") {
			t.Errorf("the order is %s, want those of releases first, and each by name", got)
		}
		for _, name := range []string{"a", "a+b", "a,b"} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("a policy %q was registered", name)
					}
				}()
				register(named{Policy: legacy{}, name: name}, "")
			}()
		}
	})
}

// TestChangedShedder: a policy that sheds on enqueue still does when other rules of it are
// replaced, and sheds otherwise when that rule is.
func TestChangedShedder(t *testing.T) {
	withRegistry(func() {
		register(namedShedder{named{Policy: shedding{}, name: "eager"}}, "")
		for name, want := range map[string]int{"eager": 1, "eager+oldest-first": 1, "eager+enqueue-keeps-none": 0} {
			p, err := PolicyByName(name)
			if err != nil {
				t.Fatal(err)
			}
			eager, ok := p.(EnqueueShedder)
			if !ok {
				t.Errorf("%s does not shed on enqueue", name)
				continue
			}
			evals := pending{before: totalOrder(p)}
			for _, id := range []string{"x", "y", "z"} {
				evals.add(&Evaluation{ID: id}, 0)
			}
			if shed := eager.ShedOnEnqueue(&evals); len(shed) != 3-want || evals.Len() != want {
				t.Errorf("%s: %d shed and %d left, want %d left", name, len(shed), evals.Len(), want)
			}
		}
	})
}

// TestEnqueueTimes fills Nomad's enqueue-time map up to its bound, which holds so many and
// not one more.
func TestEnqueueTimes(t *testing.T) {
	l := newLeaks(SilentTimings)
	for i := range maxTimed + 1 {
		id := strings.Repeat("x", i%7) + string(rune('a'+i%26)) + string(rune(0x4e00+i))
		l.enqueued(id)
		if got, want := l.timed(id), i < 10_000; got != want {
			t.Fatalf("evaluation %d is timed: %v, want %v", i+1, got, want)
		}
	}
}

// TestTotalOrder: whatever the policy, of two evaluations one is the better, and which of them
// does not depend on who else there is.
func TestTotalOrder(t *testing.T) {
	var evals []*Evaluation
	for i := range 16 {
		evals = append(evals, &Evaluation{ID: string(rune('a' + i)), Priority: i & 1, CreateIndex: uint64(i >> 1 & 1), ModifyIndex: uint64(i >> 2 & 1)})
	}
	for _, name := range append(PolicyNames(), "legacy+newest-first", "legacy+priority-first", "shedding+oldest-first") {
		p, err := PolicyByName(name)
		if err != nil {
			t.Fatal(err)
		}
		before := totalOrder(p)
		for _, x := range evals {
			for _, y := range evals {
				if before(x, y) == before(y, x) && x != y {
					t.Errorf("%s: neither or both of %+v and %+v is the better", name, x, y)
				}
				for _, z := range evals {
					if before(x, y) && before(y, z) && !before(x, z) {
						t.Errorf("%s: %s is before %s and that before %s, which is before the first", name, x.ID, y.ID, z.ID)
					}
				}
			}
			if before(x, x) || p.Less(x, x) {
				t.Errorf("%s: %s is better than itself", name, x.ID)
			}
		}
	}
}
