package standstill

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestWatch tells the watch what happens, so that nothing depends on the machine.
func TestWatch(t *testing.T) {
	const limit = 30 * time.Second
	type look struct {
		beats       uint64
		passed, cpu time.Duration // since the look before
	}
	quiet := func(times int, passed, cpu time.Duration) (looks []look) {
		for range times {
			looks = append(looks, look{0, passed, cpu})
		}
		return looks
	}
	moving := func(times int, passed, cpu time.Duration) (looks []look) {
		for i := range times {
			looks = append(looks, look{uint64(i + 1), passed, cpu})
		}
		return looks
	}
	for _, c := range []struct {
		name  string
		looks []look
		want  bool
	}{
		{"not for long", quiet(29, time.Second, 0), false},
		{"a mutex", quiet(30, time.Second, time.Millisecond), true},
		{"a long stretch of computing", quiet(25, time.Second, time.Second), false},
		{"one without end", quiet(30, time.Second, time.Second), true},
		{"a busy machine", quiet(40, time.Second, 100*time.Millisecond), false},
		{"a busy machine, then a mutex", append(quiet(40, time.Second, 100*time.Millisecond), quiet(460, time.Second, 0)...), true},
		{"without end on a busy machine", quiet(300, time.Second, 100*time.Millisecond), true},
		{"signs of life", moving(1000, time.Second, time.Second), false},
		{"signs of life, then none", append(moving(1000, time.Second, time.Second), quiet(31, time.Second, time.Second)...), true},
		{"a sign in time", append(append(quiet(29, time.Second, time.Second), look{7, time.Second, time.Second}),
			quiet(29, time.Second, time.Second)...), false},
	} {
		w := Watch{Limit: limit}
		cpu, beats, got := 5*time.Minute, uint64(3), w.Look(3, time.Hour, 5*time.Minute)
		for _, l := range c.looks {
			cpu += l.cpu
			if l.beats > 0 {
				beats += l.beats
			}
			got = w.Look(beats, l.passed, cpu)
		}
		if got != c.want {
			t.Errorf("%s: it stands still is %v, want %v", c.name, got, c.want)
		}
	}
}

// TestHolding: of the goroutines of a bubble those are named that hold up virtual time.
func TestHolding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var others sync.WaitGroup
		defer others.Wait()
		others.Go(func() { time.Sleep(time.Hour) })
		synctest.Wait()
		got := Holding()
		if !strings.Contains(got, "TestHolding") || strings.Contains(got, "time.Sleep") {
			t.Errorf("want this goroutine, and not the one that sleeps:\n%s", got)
		}
	})
	if got := Holding(); !strings.HasPrefix(got, "none of ") {
		t.Errorf("outside a bubble:\n%s", got)
	}
}
