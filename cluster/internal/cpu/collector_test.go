package cpu

import (
	"testing"
	"testing/synctest"
	"time"
)

// TestHeapMarksWhatWasLeft: whoever marks, in the end as much was marked as garbage was left, and the heap never
// grows much beyond its goal.
func TestHeapMarksWhatWasLeft(t *testing.T) {
	const goal = time.Second
	for name, beside := range map[string]time.Duration{
		"goroutines alone":             0,
		"a quarter of the processors":  3 * time.Millisecond,
		"processors with nothing else": 40 * time.Millisecond,
	} {
		var h heap
		left, marked, cycles := time.Duration(0), time.Duration(0), 0
		for range 20_000 {
			was := h.marking
			assist := h.leave(Garbage{Cost: time.Millisecond, Heap: goal})
			left, marked = left+time.Millisecond, marked+assist
			if h.marking && !was {
				cycles++
				if h.left < 699*time.Millisecond {
					t.Fatalf("%s: marking begins after %v of %v", name, h.left, goal)
				}
			}
			if d := min(beside, h.toMark); h.marking && d > 0 {
				h.credit += d
				h.mark(d)
				marked += d
			}
			if h.left > goal+time.Millisecond {
				t.Fatalf("%s: %v are left before all is marked, of %v", name, h.left, goal)
			}
		}
		if off := left - marked; off < -goal || off > goal || cycles < 19 {
			t.Errorf("%s: %v marked of %v, in %d cycles", name, marked, left, cycles)
		}
	}
}

// TestProcessIsSlowWhileItMarks: what a process gets done while it marks is less than what it does in between, and what
// marking costs in all is what its garbage costs.
func TestProcessIsSlowWhileItMarks(t *testing.T) {
	const runs, work, garbage, heap = 2000, 2 * time.Millisecond, time.Millisecond, 400 * time.Millisecond
	for _, c := range []struct {
		processors  int
		slow, total time.Duration // of one run, at least; of all, about
	}{
		{1, 2 * work, runs * (work + garbage)},   // who leaves garbage marks, too
		{2, work * 5 / 4, runs * work * 12 / 11}, // the other processor marks, for lack of anything else: a third of the time
	} {
		synctest.Test(t, func(t *testing.T) {
			m := NewMachine(2, Waking{})
			defer m.Stop()
			p := m.Process(c.processors)
			fast, slow := time.Hour, time.Duration(0)
			began := time.Now()
			for i := range uint64(runs) {
				before := time.Now()
				p.Do(Work{Key: i, Takes: work, Left: Garbage{Cost: garbage, Heap: heap}})
				took := time.Since(before)
				fast, slow = min(fast, took), max(slow, took)
			}
			if fast > work+10*time.Microsecond || slow < c.slow {
				t.Errorf("%d processors: %v of work takes from %v to %v, want %[2]v between collections and %[5]v or more during one",
					c.processors, work, fast, slow, c.slow)
			}
			if took := time.Since(began); took < c.total-heap || took > c.total+heap {
				t.Errorf("%d processors: all took %v, want %v", c.processors, took, c.total)
			}
			if busy := m.Busy(); busy < runs*(work+garbage)-heap || busy > runs*(work+garbage)+heap {
				t.Errorf("%d processors: the cores were busy for %v, want %v for the work and its garbage", c.processors, busy, runs*(work+garbage))
			}
		})
	}
}

// TestMarkingGivesWay: a thread that marks for want of anything else takes a goroutine at once, and also what the network
// brings.
func TestMarkingGivesWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := NewMachine(2, Waking{})
		defer m.Stop()
		p := m.Process(2)
		p.Do(Work{Key: 1, Takes: time.Millisecond, Left: Garbage{Cost: 700 * time.Millisecond, Heap: time.Second}})
		time.Sleep(100 * time.Millisecond)
		if busy := m.Busy(); busy < 200*time.Millisecond { // one from the moment at which the other's garbage has marking begin
			t.Errorf("the cores were busy for %v, want both to mark for 100ms", busy)
		}
		for i, turn := range []Turn{InTurn, FromNetwork} {
			before := time.Now()
			p.Do(Work{Key: uint64(2 + i), Takes: 3 * time.Millisecond, Turn: turn})
			// A quarter of its processor's time goes to marking.
			if took := time.Since(before); took < 3*time.Millisecond || took > 4*time.Millisecond+10*time.Microsecond {
				t.Errorf("3ms of work took %v", took)
			}
		}
		time.Sleep(2 * time.Second)
		if busy := m.Busy(); busy < time.Second || busy > 1010*time.Millisecond {
			t.Errorf("the cores were busy for %v, want 1s of marking and 7ms of work", busy)
		}
	})
}
