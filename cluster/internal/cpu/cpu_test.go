package cpu

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/simctl/simctl/internal/virtualtest"
)

// start runs tasks that arrive and need CPU as given, and returns when each one ended.
func run(cores int, tasks []struct{ at, need time.Duration }) (ends []time.Duration, busy time.Duration) {
	return runOn(NewPool(cores), tasks)
}

func runOn(p *Pool, tasks []struct{ at, need time.Duration }) (ends []time.Duration, busy time.Duration) {
	defer p.Stop()
	start := time.Now()
	ends = make([]time.Duration, len(tasks))
	var wg sync.WaitGroup
	for i, t := range tasks {
		wg.Go(func() {
			time.Sleep(t.at)
			p.Use(uint64(i), t.need)
			ends[i] = time.Since(start)
		})
	}
	wg.Wait()
	return ends, p.Busy()
}

// TestPoolWaits: a task gives its core away while it waits in the kernel. What it leaves takes a core beside it.
func TestPoolWaits(t *testing.T) {
	const ms = time.Millisecond
	virtualtest.Test(t, func(t *testing.T) {
		p, start := NewPool(1), time.Now()
		after := func(what string, d, ends, worked time.Duration) {
			t.Helper()
			if off := d - ends; off < 0 || off > 5*time.Microsecond {
				t.Errorf("%s ended at %v, want %v", what, d, ends)
			}
			if off := p.Busy() - worked; off < 0 || off > 5*time.Microsecond {
				t.Errorf("%s: by then the core was busy for %v, want %v", what, p.Busy(), worked)
			}
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			p.Do(Work{Key: 1, Before: ms, Takes: 2 * ms, Waits: 2, Wait: 10 * ms, Resume: 3 * ms, After: 5 * ms})
			after("one that waits", time.Since(start), 34*ms, 11*ms)
		})
		wg.Go(func() {
			p.Do(Work{Key: 2, Before: 4 * ms, Takes: 2 * ms})
			after("another meanwhile", time.Since(start), 6*ms, 4*ms)
			time.Sleep(ms)
			p.Do(Work{Key: 3, Takes: ms / 2, Left: Garbage{Key: 4, Cost: ms / 2}})
			time.Sleep(time.Until(start.Add(8 * ms)))
			after("garbage", time.Since(start), 8*ms, 5*ms)
			time.Sleep(time.Until(start.Add(14 * ms))) // the first has resumed at 13
			after("a moment", time.Since(start), 14*ms, 6*ms)
		})
		wg.Wait()
	})
}

func TestPoolSharesCores(t *testing.T) {
	const ms = time.Millisecond
	type task = struct{ at, need time.Duration }
	for name, tc := range map[string]struct {
		cores int
		tasks []task
		ends  []time.Duration
	}{
		"alone":                   {2, []task{{0, 10 * ms}}, []time.Duration{10 * ms}},
		"a core each":             {2, []task{{0, 10 * ms}, {0, 20 * ms}}, []time.Duration{10 * ms, 20 * ms}},
		"in order of arrival":     {1, []task{{0, 2 * ms}, {1, 2 * ms}}, []time.Duration{2 * ms, 4 * ms}},
		"a short one waits":       {1, []task{{0, 2 * ms}, {1 * ms, 1 * ms}}, []time.Duration{2 * ms, 3 * ms}},
		"but not for ever":        {1, []task{{0, 100 * ms}, {1 * ms, 1 * ms}}, []time.Duration{101 * ms, 4 * ms}},
		"overdue ones give way":   {1, []task{{0, 100 * ms}, {50 * ms, 1 * ms}}, []time.Duration{101 * ms, 51 * ms}},
		"long ones take turns":    {1, []task{{0, 5 * ms}, {1, 5 * ms}}, []time.Duration{8 * ms, 10 * ms}},
		"a free core is taken":    {2, []task{{0, 3 * ms}, {1, 1 * ms}, {2, 1 * ms}}, []time.Duration{3 * ms, 1 * ms, 2 * ms}},
		"late arrival after idle": {1, []task{{0, 1 * ms}, {50 * ms, 2 * ms}}, []time.Duration{1 * ms, 52 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			virtualtest.Test(t, func(t *testing.T) {
				ends, busy := run(tc.cores, tc.tasks)
				var sum time.Duration
				for i, want := range tc.ends {
					if d := ends[i] - want; d < 0 || d > 5*time.Microsecond {
						t.Errorf("task %d ended at %v, want %v", i, ends[i], want)
					}
					sum += tc.tasks[i].need
				}
				if d := busy - sum; d < 0 || d > 5*time.Microsecond {
					t.Errorf("busy %v, want %v", busy, sum)
				}
			})
		})
	}
}

func TestPoolSpendSlowsOthers(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		p := NewPool(1)
		defer p.Stop()
		start := time.Now()
		p.Spend(1, time.Second)
		p.Use(2, 10*time.Millisecond)
		// Four turns, each after a quantum of the other task.
		if got, want := time.Since(start), 10*time.Millisecond+4*quantum; got < want || got > want+5*time.Microsecond {
			t.Errorf("took %v beside a background task, want %v", got, want)
		}
	})
}

// TestPoolSpendArrivesLater: work beside the caller takes its turns from when it comes, though
// nobody waits for it.
func TestPoolSpendArrivesLater(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		p := NewPool(1)
		defer p.Stop()
		start := time.Now()
		time.AfterFunc(time.Millisecond, func() { p.Spend(1, time.Second) })
		p.Use(2, 3*quantum-time.Millisecond)
		// Two turns of the other task, after each but the last of the caller's.
		if got, want := time.Since(start), 5*quantum-time.Millisecond; got < want || got > want+5*time.Microsecond {
			t.Errorf("took %v beside a task that came later, want %v", got, want)
		}
	})
}

// TestEqualTasksPart: tasks of one instant that take as long end at instants of their own, the
// same ones in every run.
func TestEqualTasksPart(t *testing.T) {
	var first []time.Duration
	for range 2 {
		virtualtest.Test(t, func(t *testing.T) {
			ends, _ := run(8, slices.Repeat([]struct{ at, need time.Duration }{{0, time.Millisecond}}, 8))
			if first = append(first, ends...); !slices.Equal(first[:8], ends) {
				t.Errorf("they end at %v, and at %v another time", first[:8], ends)
			}
			slices.Sort(ends)
			if n := len(slices.Compact(ends)); n < 7 {
				t.Errorf("eight end at %d instants", n)
			}
		})
	}
}

func TestNilPoolIsFree(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		start := time.Now()
		nobody := NewPool(0)
		nobody.Use(1, time.Hour)
		nobody.Spend(1, time.Hour)
		if time.Since(start) != 0 || nobody.Busy() != 0 || nobody.Cores() != 0 {
			t.Errorf("a nil pool took %v, was busy for %v and has %d cores", time.Since(start), nobody.Busy(), nobody.Cores())
		}
		nobody.Stop()
		p := NewPool(2)
		defer p.Stop()
		for _, none := range []time.Duration{0, -time.Second} {
			p.Use(1, none)
			p.Spend(2, none)
		}
		if time.Sleep(time.Second); time.Since(start) != time.Second || p.Busy() != 0 || p.Cores() != 2 {
			t.Errorf("tasks of nothing took %v of %d cores", p.Busy(), p.Cores())
		}
	})
}

// TestPoolOrdersOneInstantByKey: tasks that arrive at one instant run in the order of their
// keys, whatever the order of their goroutines.
func TestPoolOrdersOneInstantByKey(t *testing.T) {
	for _, keys := range [][]uint64{{1, 2, 3, 4}, {4, 3, 2, 1}, {3, 1, 4, 2}} {
		virtualtest.Test(t, func(t *testing.T) {
			p := NewPool(1)
			defer p.Stop()
			var mu sync.Mutex
			var order []uint64
			var wg sync.WaitGroup
			for _, key := range keys {
				wg.Go(func() {
					p.Use(key, time.Millisecond)
					mu.Lock()
					defer mu.Unlock()
					order = append(order, key)
				})
			}
			wg.Wait()
			if !slices.IsSorted(order) {
				t.Errorf("arrivals %v were served as %v", keys, order)
			}
		})
	}
}

// whileLookedAt calls f while somebody asks all the time how busy the cores are.
func whileLookedAt(cores Meter, f func()) {
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for ; ; time.Sleep(1511) {
			select {
			case <-stop:
				return
			default:
				cores.Busy()
			}
		}
	})
	f()
	close(stop)
	wg.Wait()
}

// TestPoolIsTheSameWhetherLookedAtOrNot: a pool that catches up with what happened since the
// last task gets where one gets that somebody looks at all the time.
func TestPoolIsTheSameWhetherLookedAtOrNot(t *testing.T) {
	for seed := range uint64(40) {
		draw := rand.New(rand.NewPCG(seed, 0))
		tasks := make([]struct{ at, need time.Duration }, 12)
		for i := range tasks {
			tasks[i].at = time.Duration(draw.IntN(8)) * 500 * time.Microsecond
			tasks[i].need = time.Duration(1 + draw.IntN(int(quantum)>>(draw.IntN(2)*4)*2))
		}
		var alone, watched []time.Duration
		virtualtest.Test(t, func(*testing.T) { alone, _ = run(3, tasks) })
		virtualtest.Test(t, func(*testing.T) {
			p := NewPool(3)
			whileLookedAt(p, func() { watched, _ = runOn(p, tasks) })
		})
		if !slices.Equal(alone, watched) {
			t.Fatalf("seed %d: tasks %v end at %v, and at %v in a pool that is looked at", seed, tasks, alone, watched)
		}
	}
}

// TestDoIsItsParts: whether a task sleeps for itself and its waits together or part by part, it ends
// at the same instant, however busy the pool is.
func TestDoIsItsParts(t *testing.T) {
	for seed := range uint64(200) {
		ends := func(together bool) (ends []time.Duration) {
			draw := rand.New(rand.NewPCG(seed, 0))
			p := NewPool(1 + draw.IntN(2))
			defer p.Stop()
			start := time.Now()
			var wg sync.WaitGroup
			ends = make([]time.Duration, 3+draw.IntN(10))
			for i := range ends {
				at := time.Duration(draw.IntN(8)) * 500 * time.Microsecond
				some := func() time.Duration { return time.Duration(draw.IntN(int(quantum) >> (draw.IntN(3) * 4) * 2)) }
				before, need, after := some(), some(), some()
				wg.Go(func() {
					time.Sleep(at)
					if together {
						p.Do(Work{Key: uint64(i), Before: before, Takes: need, After: after})
					} else {
						time.Sleep(before)
						p.Use(uint64(i), need)
						time.Sleep(after)
					}
					ends[i] = time.Since(start)
				})
			}
			wg.Wait()
			return ends
		}
		var together, apart []time.Duration
		virtualtest.Test(t, func(*testing.T) { together = ends(true) })
		virtualtest.Test(t, func(*testing.T) { apart = ends(false) })
		if !slices.Equal(together, apart) {
			t.Fatalf("seed %d: tasks end at %v, and at %v part by part", seed, together, apart)
		}
	}
}

// TestNoTwoEndTogether: tasks of two cores that would be done at one instant are done a nanosecond apart, so that who goes on
// first is not the runtime's choice.
func TestNoTwoEndTogether(t *testing.T) {
	for name, cores := range map[string]func() Cores{
		"a pool":        func() Cores { return NewPool(2) },
		"one process":   func() Cores { return NewMachine(2, Waking{}).Process(2) },
		"two processes": func() Cores { return NewMachine(2, Waking{}).Process(1) },
	} {
		virtualtest.Test(t, func(t *testing.T) {
			seen := map[time.Duration]uint64{} // keys, by how much longer they make a task
			first, second := uint64(0), uint64(0)
			for found := false; !found; {
				second++
				longer := jitter(second, time.Now())
				if first, found = seen[longer]; !found {
					seen[longer] = second
				}
			}
			one := cores()
			other := one
			if p, ok := one.(*Process); ok && name == "two processes" {
				other = p.on.Process(1)
			}
			var ended [2]time.Time
			var both sync.WaitGroup
			both.Go(func() { one.Do(Work{Key: first, Takes: time.Millisecond}); ended[0] = time.Now() })
			both.Go(func() { other.Do(Work{Key: second, Takes: time.Millisecond}); ended[1] = time.Now() })
			both.Wait()
			if apart := ended[1].Sub(ended[0]).Abs(); apart != time.Nanosecond {
				t.Errorf("%s: tasks with keys %d and %d, which take equally long, end %v apart", name, first, second, apart)
			}
			if p, ok := one.(*Process); ok {
				p.on.Stop()
			}
		})
	}
}
