package cpu

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/simctl/simctl/internal/virtualtest"
)

// TestBest: who runs next, of members whose average is zero.
func TestBest(t *testing.T) {
	const us = time.Microsecond
	one := func(virtual, end time.Duration) *thread {
		return &thread{entity: entity{weight: whole, virtual: virtual * us, end: end * us, protected: 50 * us}}
	}
	for name, tc := range map[string]struct {
		members []*thread
		runs    int // its index, or −1
		best    int
	}{
		"the one whose slice ends first":              {[]*thread{one(0, 300), one(0, 200)}, -1, 1},
		"of those that had no more than their share":  {[]*thread{one(-100, 600), one(100, 200)}, -1, 0},
		"who runs, while it is protected":             {[]*thread{one(0, 300), one(0, 200)}, 0, 0},
		"but not if it had more than its share":       {[]*thread{one(10, 20), one(-10, 200)}, 0, 1},
		"nor if it is not protected any more":         {[]*thread{one(60, 300), one(50, 200), one(130, 100), one(-240, 900)}, 0, 3},
		"and who runs as any other, if slices end so": {[]*thread{one(0, 100), one(0, 200)}, 0, 0},
	} {
		q := queue[*thread]{members: tc.members}
		if tc.runs >= 0 {
			q.runs = tc.members[tc.runs]
		}
		if got := q.best(); got != tc.members[tc.best] {
			t.Errorf("%s: got %+v", name, got.entity)
		}
	}
}

// TestQueue: somebody can always run, who comes and who weighs something else is owed what it was owed, and who was asleep is owed nothing.
func TestQueue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := queue[*thread]{slice: time.Millisecond}
		owed := func(x *thread) time.Duration { // time on the core
			return (q.average() - x.virtual) * time.Duration(x.weight) / whole
		}
		near := func(what string, got, want time.Duration) {
			if d := got - want; d < -100 || d > 100 { // nanoseconds of rounding, times what weighs 1/64 at least
				t.Fatalf("%s: got %v, want %v", what, got, want)
			}
		}
		var away []*thread
		for range 3 {
			away = append(away, &thread{entity: entity{weight: whole}})
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				if len(away) == 0 {
					return
				}
				x := away[0]
				away = away[1:]
				alone := len(q.members) == 0
				q.put(x)
				if !alone {
					near("who comes is owed", owed(x), x.owed*time.Duration(x.weight)/whole)
				}
			},
			"run": func(t *rapid.T) {
				if len(q.members) == 0 {
					return
				}
				x := q.best()
				if x.asleep {
					q.remove(x)
					away = append(away, x)
					if x.owed > 0 {
						t.Fatalf("who was asleep is owed %v", x.owed)
					}
					return
				}
				q.run(x)
				x.virtual += x.stretch(time.Duration(rapid.IntRange(1, 3_000_000).Draw(t, "ns")))
				q.expired()
				if rapid.Bool().Draw(t, "sleeps") {
					if q.sleep(x); !x.asleep {
						away = append(away, x)
					}
				}
			},
			"reweigh": func(t *rapid.T) {
				if len(q.members) == 0 {
					return
				}
				x := rapid.SampledFrom(q.members).Draw(t, "member")
				average, before, left := q.average(), owed(x), (x.end-x.virtual)*time.Duration(x.weight)/whole
				q.reweigh(x, rapid.Int64Range(whole/64, whole).Draw(t, "weight"))
				near("the average", q.average(), average)
				near("who weighs something else is owed", owed(x), before)
				near("its slice is left", (x.end-x.virtual)*time.Duration(x.weight)/whole, left)
			},
			"wake": func(t *rapid.T) {
				for _, x := range q.members {
					if x.asleep {
						if q.wake(x); x.asleep {
							t.Fatal("does not wake")
						}
						near("who was asleep is owed", max(owed(x), 0), 0)
						return
					}
				}
			},
			"": func(t *rapid.T) {
				if len(q.members) == 0 {
					return
				}
				if x := q.best(); x == nil || x.virtual > q.average() {
					t.Fatalf("%v is to run, and the average is %v", x, q.average())
				}
			},
		})
	})
}

// TestProcessesShareEvenly: processes that always have something to do get as much of a core as any other, however many threads they
// have there.
func TestProcessesShareEvenly(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		ends := play(NewMachine(1, Waking{}), []int{1, 3}, []job{
			{need: time.Second}, {process: 1, need: time.Second}, {process: 1, need: time.Second}, {process: 1, need: time.Second},
		})
		for i, want := range []time.Duration{2 * time.Second, 4 * time.Second, 4 * time.Second, 4 * time.Second} {
			if d := ends[i] - want; d.Abs() > 20*time.Millisecond {
				t.Errorf("thread %d of four ended its second at %v, want %v", i, ends[i], want)
			}
		}
	})
}

// TestProcessesWeighByLoad: a process weighs on a core as much of its whole as it has of its load there. Two of three threads that share a
// core with one of another process leave it three fifths.
func TestProcessesWeighByLoad(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		always := job{need: 10 * time.Second}
		ends := play(NewMachine(2, Waking{}), []int{3, 1}, []job{always, always, always, {process: 1, at: time.Millisecond, need: time.Second}})
		if want := 5 * time.Second / 3; (ends[3] - want).Abs() > 20*time.Millisecond {
			t.Errorf("beside two threads of three it ended its second at %v, want %v", ends[3], want)
		}
	})
}

// TestLoad: half of a load is forgotten in 32 periods, and a thread that has had something to do for long has its full load.
func TestLoad(t *testing.T) {
	var l load
	l.set(0, fully)
	l.set(halfLife, 0)
	if got := l.at(halfLife); got != fully/2 {
		t.Errorf("after one half-life of work its load is %d, want %d", got, fully/2)
	}
	if got := l.at(3 * halfLife); got != fully/8 {
		t.Errorf("two half-lives later it is %d, want %d", got, fully/8)
	}
	l.set(100*halfLife, fully)
	if got := l.at(200 * halfLife); got != fully {
		t.Errorf("after 100 half-lives of work it is %d, want %d", got, fully)
	}
}
