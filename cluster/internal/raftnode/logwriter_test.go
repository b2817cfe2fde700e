package raftnode

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
	"weak"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/internal/virtualtest"
)

// TestEntriesOfOneInstant: whichever of two entries comes first within an instant, the log has
// them in one order, and what comes at the instant of taking waits for the next write.
func TestEntriesOfOneInstant(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
			w := &logWriter{wake: make(chan struct{}, 1)}
			w.apply([]byte("z"))
			time.Sleep(time.Nanosecond)
			for _, data := range order {
				w.apply([]byte(data))
			}
			time.Sleep(time.Nanosecond)
			w.apply([]byte("later"))
			got := ""
			for _, e := range w.take(time.Now()) {
				got += string(e.data)
			}
			if got != "zab" {
				t.Errorf("arrived as z%v: written as %s, want zab", order, got)
			}
			if batch := w.take(time.Now()); len(batch) > 0 || !w.someWait() {
				t.Errorf("took %d entries at the instant of their arrival, and some wait: %v", len(batch), w.someWait())
			}
		}
	})
}

// TestWrittenEntriesAreForgotten: those that wait behind them do not keep them.
func TestWrittenEntriesAreForgotten(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		w := &logWriter{wake: make(chan struct{}, 1)}
		for range 100 {
			w.apply([]byte("entry"))
		}
		time.Sleep(time.Nanosecond)
		batch := w.take(time.Now())
		first := weak.Make(batch[0])
		if runtime.GC(); first.Value() != nil {
			t.Error("an entry that was written is kept")
		}
		runtime.KeepAlive(w)
	})
}

// TestGroupsAreBounded: a write has 64 entries at most, in the order of their arrival.
func TestGroupsAreBounded(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		w := &logWriter{wake: make(chan struct{}, 1)}
		for i := range 100 {
			w.apply(fmt.Append(nil, i))
			time.Sleep(time.Nanosecond)
		}
		next := 0
		for _, want := range []int{64, 36, 0} {
			some, batch := w.someWait(), w.take(time.Now())
			if len(batch) != want || some != (want > 0) {
				t.Fatalf("after %d entries: took %d and some waited: %v; want %d", next, len(batch), some, want)
			}
			for _, e := range batch {
				if string(e.data) != fmt.Sprint(next) {
					t.Fatalf("entry %d has %q", next, e.data)
				}
				next++
			}
		}
	})
}

// TestHaltedWhileItWrites: of entries that wait for the disk when the writer is halted, and of later
// ones, Raft gets none, and nobody waits for them.
func TestHaltedWhileItWrites(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		w := newLogWriter(nil, 1, func([][]byte) { time.Sleep(time.Second) })
		var handed []<-chan raft.ApplyFuture
		for _, data := range []string{"a", "b", "c"} {
			handed = append(handed, w.apply([]byte(data)))
		}
		time.Sleep(time.Second / 2) // they are being written
		handed = append(handed, w.apply([]byte("waits")))
		w.halt()
		handed = append(handed, w.apply([]byte("late")))
		w.wait()
		for i, ch := range handed {
			if f, ok := <-ch; ok {
				t.Errorf("entry %d of five was handed to Raft: %v", i+1, f)
			}
		}
	})
}

// TestGroupsStayTogether: while Raft has no room for all entries that were written together, it gets none of them.
func TestGroupsStayTogether(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		w := newLogWriter(nil, 1, func([][]byte) { time.Sleep(time.Second) }) // any entry that Raft gets is a panic
		for range maxUnapplied - 2 {
			w.slots <- struct{}{}
		}
		var handed []<-chan raft.ApplyFuture
		for _, data := range []string{"a", "b", "c"} {
			handed = append(handed, w.apply([]byte(data)))
		}
		time.Sleep(time.Minute)
		w.halt()
		w.wait()
		for _, ch := range handed {
			if _, ok := <-ch; ok {
				t.Error("an entry was handed to Raft though the group did not fit")
			}
		}
	})
}

// TestIdleBetweenWrites: what waits for Raft's main goroutine has its turn when a write ends; if more entries wait, then or after
// one of the next writes; and always if Raft has no room for what was written.
func TestIdleBetweenWrites(t *testing.T) {
	for name, tt := range map[string]struct {
		waiting, unapplied int
		atOnce             bool
	}{
		"nothing else to write": {0, 0, true},
		"more to write":         {1, 0, false},
		"no room":               {1, maxUnapplied, true},
	} {
		t.Run(name, func(t *testing.T) {
			virtualtest.Test(t, func(t *testing.T) {
				w := &logWriter{coin: rand.New(rand.NewPCG(1, 0)), between: make(chan struct{}), slots: make(chan struct{}, maxUnapplied)}
				for range tt.waiting {
					w.waiting = append(w.waiting, &pendingEntry{})
				}
				for range tt.unapplied {
					w.slots <- struct{}{}
				}
				idle := func() (writes int) {
					start := time.Now()
					w.idle()
					return int(time.Since(start).Round(time.Second) / time.Second)
				}
				if n := idle(); n != 0 {
					t.Errorf("waited for %d writes before the first began", n)
				}
				later := 0
				for range 50 {
					written := make(chan struct{})
					go func() {
						defer close(written)
						for begun := true; begun; {
							w.writes()
							time.Sleep(time.Second)
							w.wrote(1)
							begun = !w.began.IsZero()
						}
					}()
					n := idle()
					<-written
					if n < 1 {
						t.Fatal("waited for no write while one was under way")
					}
					later += min(n-1, 1)
				}
				if tt.atOnce != (later == 0) || later > 40 {
					t.Errorf("%d of 50 times more than one write came first", later)
				}
			})
		})
	}
}
