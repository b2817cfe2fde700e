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

// TestGarbageComesWithTheWork: long work has a cycle begin when it has left enough, and then helps to mark.
func TestGarbageComesWithTheWork(t *testing.T) {
	const work = 100 * time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		m := NewMachine(2, Waking{})
		defer m.Stop()
		p, began := m.Process(1), time.Now()
		time.AfterFunc(68*time.Millisecond, func() {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.catchUp()
			if p.heap.marking || p.heap.left < 65*time.Millisecond {
				t.Errorf("after 68ms of work %v are left, and it marks: %v", p.heap.left, p.heap.marking)
			}
		})
		p.Do(Work{Key: 1, Takes: work, Left: Garbage{Cost: work, Heap: work}})
		if took := time.Since(began); took < 2*work-2*time.Millisecond || took > 2*work+2*time.Millisecond {
			t.Errorf("100ms of work that leaves as much as lives take %v, want as much again for marking that", took)
		}
	})
}

// marking returns a machine with that many cores, and a process with as many processors that has just begun to mark, for a second.
func marking(t *testing.T, cores int) (*Machine, *Process) {
	m := NewMachine(cores, Waking{})
	t.Cleanup(m.Stop)
	p := m.Process(cores)
	p.Do(Work{Key: 1, Takes: time.Millisecond, Left: Garbage{Cost: 700 * time.Millisecond, Heap: time.Second}})
	return m, p
}

// TestMarkingGivesWay: a thread that marks for want of anything else takes a goroutine, and also what the network brings, once its
// processor has marked for a quarter of the time since marking began.
func TestMarkingGivesWay(t *testing.T) {
	const ms = time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		m, p := marking(t, 2)
		time.Sleep(100 * ms)
		if busy := m.Busy(); busy < 200*ms { // one from the moment at which the other's garbage has marking begin
			t.Errorf("the cores were busy for %v, want both to mark for 100ms", busy)
		}
		began := time.Now().Add(-100 * ms)
		for i, turn := range []Turn{InTurn, FromNetwork} { // each on a processor that has only marked
			before := time.Now()
			p.Do(Work{Key: uint64(2 + i), Takes: 3 * ms, Turn: turn})
			want := (3*ms + before.Sub(began)/4) * 4 / 3
			if took := time.Since(before); took < want-100*time.Microsecond || took > want+100*time.Microsecond {
				t.Errorf("3ms of work took %v, want %v", took, want)
			}
		}
		time.Sleep(2 * time.Second)
		if busy := m.Busy(); busy < time.Second || busy > 1010*ms {
			t.Errorf("the cores were busy for %v, want 1s of marking and 7ms of work", busy)
		}
	})
}

// TestNothingLeftToMark: a processor owes no more than what is still to be marked.
func TestNothingLeftToMark(t *testing.T) {
	const ms = time.Millisecond
	synctest.Test(t, func(t *testing.T) {
		_, p := marking(t, 1)
		time.Sleep(990 * ms)
		before := time.Now()
		p.Do(Work{Key: 2, Takes: 3 * ms})
		if took := time.Since(before); took < 13*ms-100*time.Microsecond || took > 13*ms+100*time.Microsecond {
			t.Errorf("3ms of work took %v, want 10ms more for what is left to mark", took)
		}
	})
}
