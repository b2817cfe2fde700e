package cpu

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/simctl/simctl/internal/nightly"
	"github.com/simctl/simctl/internal/virtualtest"
)

// job is work for one of a machine's processes.
type job struct {
	process  int
	at, need time.Duration
	turn     Turn
	over     uint64
	waits    int
	wait     time.Duration
}

// play runs jobs on a machine whose processes have so many processors each, and returns when each one ended.
func play(m *Machine, processors []int, jobs []job) []time.Duration {
	defer m.Stop()
	var processes []*Process
	for _, n := range processors {
		processes = append(processes, m.Process(n))
	}
	start := time.Now()
	ends := make([]time.Duration, len(jobs))
	var wg sync.WaitGroup
	for i, j := range jobs {
		wg.Go(func() {
			processes[j.process].Do(Work{Key: uint64(i), Before: j.at, Takes: j.need, Turn: j.turn, Over: j.over, Waits: j.waits, Wait: j.wait})
			ends[i] = time.Since(start)
		})
	}
	wg.Wait()
	return ends
}

func TestMachine(t *testing.T) {
	const ms = time.Millisecond
	for name, tc := range map[string]struct {
		cores      int
		processors []int
		jobs       []job
		ends       []time.Duration
	}{
		"alone":                           {2, []int{2}, []job{{at: 5 * ms, need: 10 * ms}}, []time.Duration{15 * ms}},
		"a core each":                     {2, []int{2}, []job{{need: 10 * ms}, {need: 20 * ms}}, []time.Duration{10 * ms, 20 * ms}},
		"a process has so many at a time": {2, []int{1}, []job{{need: 5 * ms}, {need: 5 * ms}}, []time.Duration{5 * ms, 10 * ms}},
		"a long goroutine gives way after 10 ms": {
			2, []int{1}, []job{{need: 30 * ms}, {need: 2 * ms}}, []time.Duration{32 * ms, 12 * ms},
		},
		"threads change at the ticks of 4 ms": {
			1, []int{1, 1}, []job{{need: 7 * ms}, {process: 1, need: 7 * ms}}, []time.Duration{11 * ms, 14 * ms},
		},
		"who wakes up waits for a tick": {
			1, []int{1, 1}, []job{{need: 30 * ms}, {process: 1, at: 9 * ms, need: 1 * ms}}, []time.Duration{31 * ms, 13 * ms},
		},
		"unless it is owed time, having waited before": {
			1, []int{1, 1}, []job{{need: 30 * ms}, {process: 1, need: 1 * ms}, {process: 1, at: 9 * ms, need: 1 * ms}},
			[]time.Duration{32 * ms, 5 * ms, 10 * ms},
		},
		"and the other had more than its share": {
			1, []int{1, 1}, []job{{need: 30 * ms}, {process: 1, need: 1 * ms}, {process: 1, at: 11 * ms / 2, need: 1 * ms}},
			[]time.Duration{32 * ms, 5 * ms, 13 * ms / 2},
		},
		"an idle core takes nobody before its tick": {
			2, []int{1, 1, 1}, []job{{need: 100 * ms}, {process: 1, need: 1 * ms}, {process: 2, at: ms / 10, need: 2 * ms}},
			[]time.Duration{100 * ms, 1 * ms, 6 * ms},
		},
		"and at its tick who has waited": {
			2, []int{1, 1, 1}, []job{{need: 9 * ms}, {process: 1, need: 7800 * time.Microsecond}, {process: 2, at: ms / 10, need: 30 * ms}},
			[]time.Duration{13 * ms, 7800 * time.Microsecond, 34 * ms},
		},
		"the network waits while all processors are busy": {
			2, []int{1}, []job{{need: 3 * ms}, {need: 3 * ms}, {at: 1 * ms, need: 1 * ms, turn: FromNetwork}, {at: 2 * ms, need: 1 * ms}},
			[]time.Duration{3 * ms, 6 * ms, 8 * ms, 7 * ms},
		},
		"but not for longer than 10 ms": {
			2, []int{2}, []job{{need: 50 * ms}, {need: 50 * ms}, {at: 1 * ms, need: 1 * ms, turn: FromNetwork}},
			[]time.Duration{51 * ms, 50 * ms, 11 * ms},
		},
		"and not for a processor that is idle": {
			2, []int{2}, []job{{need: 50 * ms}, {at: 1 * ms, need: 1 * ms, turn: FromNetwork}}, []time.Duration{50 * ms, 2 * ms},
		},
		"who had 10 ms waits for all that wait": {
			2, []int{1}, slices.Concat([]job{{need: 11 * ms}}, slices.Repeat([]job{{at: 5 * ms, need: 1 * ms}}, 2), []job{{at: 11 * ms, need: 2 * ms}}),
			[]time.Duration{15 * ms, 11 * ms, 12 * ms, 14 * ms},
		},
		"but not for those that wait for another processor": {
			2, []int{2}, []job{{need: 30 * ms}, {need: 9 * ms}, {}, {at: 5 * ms, need: 9 * ms}, {}, {at: 5 * ms, need: 4 * ms}},
			[]time.Duration{30 * ms, 9 * ms, 0, 18 * ms, 0, 22 * ms},
		},
		"a processor that is done takes half of what waits for another": {
			2, []int{2}, []job{{need: 9 * ms}, {need: 3 * ms}, {at: 1 * ms, need: 9 * ms}, {}, {at: 2 * ms, need: 2 * ms}, {}, {at: 2 * ms, need: 1 * ms}},
			[]time.Duration{9 * ms, 3 * ms, 12 * ms, 0, 12 * ms, 0, 10 * ms},
		},
		"who goes on is next": {
			2, []int{1}, []job{{need: 3 * ms}, {at: 1 * ms, need: 2 * ms}, {at: 2 * ms, need: 1 * ms, turn: Next}},
			[]time.Duration{3 * ms, 6 * ms, 4 * ms},
		},
		"who waits in the kernel keeps the processor and not the core": {
			1, []int{1, 1}, []job{{need: 1 * ms, waits: 1, wait: 5 * ms}, {at: ms / 2, need: 1 * ms}, {process: 1, at: 2 * ms, need: 1 * ms}},
			[]time.Duration{6 * ms, 7 * ms, 3 * ms},
		},
		"for 10 ms": {
			2, []int{1}, []job{{need: 1 * ms, waits: 1, wait: 13 * ms}, {at: 2 * ms, need: 2 * ms}, {at: 2 * ms, need: 2 * ms}, {at: 13 * ms, need: 1 * ms}},
			[]time.Duration{16 * ms, 13 * ms, 15 * ms, 16 * ms},
		},
		"what comes over one connection is read together, and the last of it is next": {
			2, []int{1}, []job{
				{need: 3 * ms}, {at: 1 * ms, need: 1 * ms, turn: FromNetwork, over: 7}, {at: 2 * ms, need: 1 * ms, turn: FromNetwork, over: 7},
				{at: 3 * ms / 2, need: 1 * ms, turn: FromNetwork}, {at: 2 * ms, need: 1 * ms},
			},
			[]time.Duration{3 * ms, 7 * ms, 5 * ms, 6 * ms, 4 * ms},
		},
		"and so does what the network brings meanwhile": {
			2, []int{1}, []job{{need: 11 * ms}, {at: 5 * ms, need: 2 * ms, turn: FromNetwork}, {at: 6 * ms, need: 1 * ms}, {at: 11 * ms / 2, need: 1 * ms}},
			[]time.Duration{15 * ms, 14 * ms, 12 * ms, 11 * ms},
		},
	} {
		t.Run(name, func(t *testing.T) {
			virtualtest.Test(t, func(t *testing.T) {
				m := NewMachine(tc.cores, Waking{})
				ends := play(m, tc.processors, tc.jobs)
				var sum time.Duration
				for i, want := range tc.ends {
					if d := ends[i] - want; d < 0 || d > 5*time.Microsecond {
						t.Errorf("job %d ended at %v, want %v", i, ends[i], want)
					}
					sum += tc.jobs[i].need
				}
				if d := m.Busy() - sum; d < 0 || d > 5*time.Microsecond || m.Cores() != tc.cores {
					t.Errorf("%d cores were busy for %v, want %d and %v", m.Cores(), m.Busy(), tc.cores, sum)
				}
			})
		})
	}
}

// TestOwedStaysOwed: a thread that was owed time when it went to sleep still is when it has run for a moment, whoever shares its core.
func TestOwedStaysOwed(t *testing.T) {
	const ms = time.Millisecond
	for _, others := range []int{1, 2, 3} {
		virtualtest.Test(t, func(t *testing.T) {
			m := NewMachine(1, Waking{})
			defer m.Stop()
			for i := range others {
				m.Process(1).Spend(uint64(i+1), time.Second)
			}
			p := m.Process(1)
			owed := func(wait, d time.Duration) time.Duration {
				p.Do(Work{Key: 9, Before: wait, Takes: d, After: ms})
				m.Busy() // lets it go to sleep
				return p.groups[0].owed
			}
			before := owed(ms, ms/2)
			if now := owed(0, time.Microsecond); before < ms/2 || now < before-ms/100 || now > before+ms/100 {
				t.Errorf("with %d others it is owed %v, and was owed %v before", others, now, before)
			}
		})
	}
}

// TestGlobalQueue: a processor that always has something else to do takes one goroutine from the global queue at every 61st turn. One
// that has not takes several at a time, and none before what is ready by then.
func TestGlobalQueue(t *testing.T) {
	const ms = time.Millisecond
	virtualtest.Test(t, func(t *testing.T) {
		jobs := []job{{need: 11 * ms}} // which is in the global queue after ten
		for i := range 100 {
			jobs = append(jobs, job{at: ms + time.Duration(i)*ms/2, need: ms})
		}
		ends := play(NewMachine(1, Waking{}), []int{1}, jobs)
		if d := ends[0] - 70*ms; d < 0 || d > ms/10 { // its first turn, 59 others and it
			t.Errorf("a goroutine that had ten milliseconds went on after %v, want 70ms", ends[0])
		}
	})
	virtualtest.Test(t, func(t *testing.T) {
		jobs := []job{{need: 11 * ms}}
		for range 4 {
			jobs = append(jobs, job{at: ms, need: ms, turn: FromNetwork})
		}
		jobs = append(jobs, job{at: 21 * ms / 2, need: ms}) // is ready behind those that were taken together
		ends := play(NewMachine(1, Waking{}), []int{1}, jobs)
		if want := []time.Duration{15 * ms, 11 * ms, 12 * ms, 13 * ms, 14 * ms, 16 * ms}; !slices.EqualFunc(ends, want, func(end, want time.Duration) bool {
			return end >= want && end < want+ms/10
		}) {
			t.Errorf("ends %v, want %v", ends, want)
		}
	})
}

// TestMachineGoesOnAfterItsExit: a core that was idle for long goes on a little later, and is not busy until then.
func TestMachineGoesOnAfterItsExit(t *testing.T) {
	for wait, late := range map[time.Duration]time.Duration{0: 0, 100 * time.Microsecond: 0, 300 * time.Microsecond: 75 * time.Microsecond, time.Second: 75 * time.Microsecond} {
		virtualtest.Test(t, func(t *testing.T) {
			m := NewMachine(1, Waking{Exit: 75 * time.Microsecond})
			defer m.Stop()
			p := m.Process(1)
			p.Do(Work{Key: 1, Takes: time.Millisecond, After: wait})
			start, busy := time.Now(), m.Busy()
			p.Spend(2, time.Millisecond)
			p.Do(Work{Key: 3, Takes: time.Millisecond}) // which waits for that, and for no other exit
			if d := time.Since(start) - late - 2*time.Millisecond; d < 0 || d > 5*time.Microsecond {
				t.Errorf("2 ms of work after a wait of %v took %v, want %v more", wait, d+late+2*time.Millisecond, late)
			}
			if d := m.Busy() - busy - 2*time.Millisecond; d < 0 || d > 5*time.Microsecond {
				t.Errorf("2 ms of work after a wait of %v kept the core busy for %v", wait, d+2*time.Millisecond)
			}
		})
	}
}

// TestThreadsTakeTimeToWake: a thread that slept spends time on waking up, one that finds something else to do does not, nor one that
// waited in the kernel.
func TestThreadsTakeTimeToWake(t *testing.T) {
	const ms, wake = time.Millisecond, 45 * time.Microsecond
	for name, tc := range map[string]struct {
		jobs  []job
		wakes int
	}{
		"one after the other":              {[]job{{need: ms}, {need: ms}, {need: ms}}, 1},
		"each when the one before is over": {[]job{{need: ms}, {at: 2 * ms, need: ms}, {at: 4 * ms, need: ms, turn: FromNetwork}}, 3},
		"what the network has brought":     {[]job{{need: 2 * ms}, {at: ms, need: ms, turn: FromNetwork}}, 1},
		"the disk":                         {[]job{{need: ms, waits: 2, wait: ms}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			virtualtest.Test(t, func(t *testing.T) {
				m := NewMachine(1, Waking{Takes: wake})
				play(m, []int{1}, tc.jobs)
				want := time.Duration(tc.wakes) * wake
				for _, j := range tc.jobs {
					want += j.need
				}
				if d := m.Busy() - want; d < 0 || d > 5*time.Microsecond {
					t.Errorf("the core was busy for %v, want %v with %d wakes", m.Busy(), want, tc.wakes)
				}
			})
		})
	}
	virtualtest.Test(t, func(t *testing.T) {
		m := NewMachine(1, Waking{Takes: wake})
		defer m.Stop()
		m.Process(1).Spend(1, ms)
		time.Sleep(2 * ms)
		if d := m.Busy() - ms; d < 0 || d > 5*time.Microsecond {
			t.Errorf("the core was busy for %v, want %v of work that nobody waits for", m.Busy(), ms)
		}
	})
}

// TestGoesOn: a goroutine that has more work when some is done keeps its processor for up to ten milliseconds, unless it waits for
// something.
func TestGoesOn(t *testing.T) {
	const ms = time.Millisecond
	after := func(wait time.Duration, key uint64) func(p *Process, d time.Duration) {
		return func(p *Process, d time.Duration) { p.Do(Work{Key: key, Before: wait, Takes: d}) }
	}
	for name, c := range map[string]struct {
		work       []time.Duration // of one goroutine, piece by piece
		more       func(p *Process, d time.Duration)
		one, other time.Duration // when it is done, and when another is that wants 1 ms
	}{
		"more work":           {[]time.Duration{ms, ms, ms}, after(0, 1), 3 * ms, 4 * ms},
		"and garbage of it":   {[]time.Duration{ms, ms}, func(p *Process, d time.Duration) { p.Do(Work{Key: 1, Takes: d, Left: Garbage{Cost: ms, Heap: ms}}) }, 2 * ms, 2*ms + 4*ms/3}, // the processor marks, too, once it is left
		"after a wait":        {[]time.Duration{ms, ms}, after(10, 1), 3 * ms, 2 * ms},
		"from the network":    {[]time.Duration{ms, ms}, func(p *Process, d time.Duration) { p.Do(Work{Key: 1, Takes: d, Turn: FromNetwork}) }, 3 * ms, 2 * ms},
		"of another":          {[]time.Duration{ms, ms}, after(0, 2), 3 * ms, 2 * ms},
		"more than its share": {[]time.Duration{4 * ms, 4 * ms, 4 * ms}, after(0, 1), 13 * ms, 11 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			virtualtest.Test(t, func(t *testing.T) {
				m := NewMachine(1, Waking{})
				defer m.Stop()
				p, start := m.Process(1), time.Now()
				var one, other time.Duration
				var both sync.WaitGroup
				both.Go(func() {
					p.Do(Work{Key: 1, Takes: c.work[0]})
					for _, d := range c.work[1:] {
						c.more(p, d)
					}
					one = time.Since(start)
				})
				both.Go(func() {
					p.Do(Work{Key: 100, Before: ms / 2, Takes: ms})
					other = time.Since(start)
				})
				both.Wait()
				if late := max((one - c.one).Abs(), (other - c.other).Abs()); late > 5*time.Microsecond {
					t.Errorf("done after %v, and another after %v, want %v and %v", one, other, c.one, c.other)
				}
			})
		})
	}
}

// TestMachineSharesEvenly: threads that always have something to do get as much of the cores as any other.
func TestMachineSharesEvenly(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		m := NewMachine(2, Waking{})
		var jobs []job
		for i := range 6 {
			jobs = append(jobs, job{process: i / 2, need: time.Second})
		}
		ends := play(m, []int{2, 2, 2}, jobs)
		for i, end := range ends {
			if end < 2900*time.Millisecond || end > 3100*time.Millisecond {
				t.Errorf("thread %d of six on two cores ended its second at %v", i, end)
			}
		}
	})
}

// TestMachineRepeats: a machine that is looked at all the time gets where one gets that catches up, and all that it
// is given gets done in no more time than its cores have.
func TestMachineRepeats(t *testing.T) {
	seeds := uint64(10)
	if nightly.On {
		seeds = 100
	}
	for seed := range seeds {
		draw := rand.New(rand.NewPCG(seed, 0))
		processors := []int{1 + draw.IntN(2), 1 + draw.IntN(2), 1 + draw.IntN(2)}
		jobs := make([]job, 24)
		var sum time.Duration
		for i := range jobs {
			jobs[i] = job{
				process: draw.IntN(3), at: time.Duration(draw.IntN(20)) * 500 * time.Microsecond,
				need: time.Duration(1 + draw.IntN(int(20*time.Millisecond)>>(draw.IntN(2)*6))),
				turn: Turn(draw.IntN(3)), over: uint64(draw.IntN(3)), waits: draw.IntN(3), wait: time.Duration(draw.IntN(int(15 * time.Millisecond))),
			}
			sum += jobs[i].need
		}
		var alone, watched []time.Duration
		virtualtest.Test(t, func(t *testing.T) {
			m := NewMachine(2, Waking{})
			alone = play(m, processors, jobs)
			if d := m.Busy() - sum; d < 0 || d > 24*time.Microsecond || slices.Max(alone) < sum/2 {
				t.Errorf("seed %d: two cores were busy for %v until %v, of work of %v", seed, m.Busy(), slices.Max(alone), sum)
			}
		})
		virtualtest.Test(t, func(*testing.T) {
			m := NewMachine(2, Waking{})
			whileLookedAt(m, func() { watched = play(m, processors, jobs) })
		})
		if !slices.Equal(alone, watched) {
			t.Fatalf("seed %d: jobs %v end at %v, and at %v on a machine that is looked at", seed, jobs, alone, watched)
		}
	}
}

// TestSpendBesideOthers: work that nobody waits for takes a processor and a core, and work of nothing takes no time.
func TestSpendBesideOthers(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		m := NewMachine(1, Waking{})
		defer m.Stop()
		p := m.Process(1)
		start := time.Now()
		p.Spend(1, 5*time.Millisecond)
		p.Spend(2, 0)
		p.Do(Work{Key: 3, After: time.Millisecond})
		if d := time.Since(start); d != time.Millisecond {
			t.Errorf("work of nothing took %v on top of its wait", d-time.Millisecond)
		}
		p.Do(Work{Key: 4, Takes: time.Millisecond, After: time.Millisecond})
		if d := time.Since(start) - 7*time.Millisecond; d < 0 || d > 5*time.Microsecond {
			t.Errorf("work of 1 ms was done %v after that of 5 before it, and a wait of 1 ms", d)
		}
	})
}
