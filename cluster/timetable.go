package cluster

import (
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// timeTableLimit is how far back a time table reaches (nomad/fsm.go).
const timeTableLimit = 72 * time.Hour

// timeTable knows roughly which index the log had at a time, by when this server applied
// its entries (nomad/timetable.go): garbage collection asks what is older than an hour.
type timeTable struct {
	granularity time.Duration

	mu      sync.Mutex
	entries []timeEntry // the oldest first
}

type timeEntry struct {
	Index uint64
	Time  int64 // Unix nanoseconds
}

// witness notes an entry of the log, unless one was noted a moment ago.
func (t *timeTable) witness(index uint64, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := len(t.entries); n > 0 {
		last := t.entries[n-1]
		if last.Index > index || now.Sub(time.Unix(0, last.Time)) < t.granularity {
			return
		}
	}
	t.entries = append(t.entries, timeEntry{index, now.UnixNano()})
	if n := len(t.entries) - int(timeTableLimit/t.granularity); n > 0 {
		t.entries = slices.Delete(t.entries, 0, n)
	}
}

// nearest returns the last index noted at or before a time; zero if none was.
func (t *timeTable) nearest(at time.Time) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range slices.Backward(t.entries) {
		if e.Time <= at.UnixNano() {
			return e.Index
		}
	}
	return 0
}

// copy returns the entries, for a snapshot.
func (t *timeTable) copy() []timeEntry {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.entries)
}

func (t *timeTable) restore(entries []timeEntry) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries = entries
}

// writeTimes puts the entries in front of a snapshot of the state: their number, then
// each of them.
func writeTimes(w io.Writer, entries []timeEntry) error {
	if err := binary.Write(w, binary.BigEndian, uint32(len(entries))); err != nil {
		return fmt.Errorf("persist time table: %w", err)
	}
	if err := binary.Write(w, binary.BigEndian, entries); err != nil {
		return fmt.Errorf("persist time table: %w", err)
	}
	return nil
}

// readTimes reads what writeTimes wrote, and nothing after it.
func readTimes(r io.Reader) ([]timeEntry, error) {
	var n uint32
	if err := binary.Read(r, binary.BigEndian, &n); err != nil {
		return nil, fmt.Errorf("restore time table: %w", err)
	}
	entries := make([]timeEntry, n)
	if err := binary.Read(r, binary.BigEndian, entries); err != nil {
		return nil, fmt.Errorf("restore %d entries of the time table: %w", n, err)
	}
	return entries, nil
}
