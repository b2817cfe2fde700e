package cpu

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// start runs tasks that arrive and need CPU as given, and returns when each ended.
func run(cores float64, tasks []struct{ at, need time.Duration }) (ends []time.Duration, busy time.Duration) {
	p := NewPool(cores)
	defer p.Stop()
	start := time.Now()
	ends = make([]time.Duration, len(tasks))
	var wg sync.WaitGroup
	for i, t := range tasks {
		wg.Go(func() {
			time.Sleep(t.at)
			p.Use(t.need)
			ends[i] = time.Since(start)
		})
	}
	wg.Wait()
	return ends, p.Busy()
}

func TestPoolSharesCores(t *testing.T) {
	const ms = time.Millisecond
	type task = struct{ at, need time.Duration }
	for name, tc := range map[string]struct {
		cores float64
		tasks []task
		ends  []time.Duration
	}{
		"alone":                    {2, []task{{0, 10 * ms}}, []time.Duration{10 * ms}},
		"a core each":              {2, []task{{0, 10 * ms}, {0, 20 * ms}}, []time.Duration{10 * ms, 20 * ms}},
		"two on one core":          {1, []task{{0, 10 * ms}, {0, 10 * ms}}, []time.Duration{20 * ms, 20 * ms}},
		"four on two":              {2, []task{{0, 10 * ms}, {0, 10 * ms}, {0, 10 * ms}, {0, 10 * ms}}, []time.Duration{20 * ms, 20 * ms, 20 * ms, 20 * ms}},
		"short passes long":        {1, []task{{0, 100 * ms}, {10 * ms, 1 * ms}}, []time.Duration{101 * ms, 12 * ms}},
		"rate rises when one ends": {1, []task{{0, 10 * ms}, {0, 30 * ms}}, []time.Duration{20 * ms, 40 * ms}},
		"late arrival after idle":  {1, []task{{0, 1 * ms}, {50 * ms, 2 * ms}}, []time.Duration{1 * ms, 52 * ms}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ends, busy := run(tc.cores, tc.tasks)
				var sum time.Duration
				for i, want := range tc.ends {
					if d := ends[i] - want; d < -10 || d > 10 {
						t.Errorf("task %d ended at %v, want %v", i, ends[i], want)
					}
					sum += tc.tasks[i].need
				}
				if d := busy - sum; d < -100 || d > 100 {
					t.Errorf("busy %v, want %v", busy, sum)
				}
			})
		})
	}
}

func TestPoolSpendSlowsOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(1)
		defer p.Stop()
		start := time.Now()
		p.Spend(time.Second)
		p.Use(10 * time.Millisecond)
		if got := time.Since(start); got < 20*time.Millisecond || got > 21*time.Millisecond {
			t.Errorf("took %v beside a background task, want 20ms", got)
		}
	})
}

func TestNilPoolIsFree(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		NewPool(0).Use(time.Hour)
		if time.Since(start) != 0 {
			t.Error("a nil pool took time")
		}
	})
}
