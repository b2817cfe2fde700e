package raftnode

import (
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/internal/virtualtest"
)

// TestEntriesOfOneInstant: whichever of two entries comes first within an instant, and whether
// the batch was taken before the other, the log has them in one order.
func TestEntriesOfOneInstant(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
			for before := range 3 {
				w := &logWriter{wake: make(chan struct{}, 1)}
				w.apply([]byte("z"))
				time.Sleep(time.Microsecond)
				var batch []*pendingEntry
				for i, data := range order {
					if i == before {
						batch = w.take()
					}
					w.apply([]byte(data))
				}
				if before == 2 {
					batch = w.take()
				}
				taken := time.Now()
				time.Sleep(time.Microsecond)
				w.apply([]byte("later"))
				got := ""
				for _, e := range w.complete(batch, taken) {
					got += string(e.data)
				}
				if got != "zab" {
					t.Errorf("arrived as %v, %d before the batch was taken: written as %s, want zab", order, before, got)
				}
			}
		}
	})
}

// TestHaltedWhileItWrites: of entries that wait for the disk when the writer is halted, and of later
// ones, Raft gets none, and nobody waits for them.
func TestHaltedWhileItWrites(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		w := newLogWriter(nil, func() time.Duration { return time.Second })
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
