package fsm

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

// TimeTable maps the times at which this server applied entries to their indexes, roughly
// (nomad/timetable.go). Garbage collection asks it what is older than an hour.
type TimeTable struct {
	granularity time.Duration

	mu      sync.Mutex
	entries []timeEntry // the oldest first
}

// NewTimeTable returns an empty table that notes an entry once in so long.
func NewTimeTable(granularity time.Duration) *TimeTable { return &TimeTable{granularity: granularity} }

type timeEntry struct {
	Index uint64
	Time  int64 // Unix nanoseconds
}

// Witness notes an entry of the log, unless one was noted a moment ago.
func (t *TimeTable) Witness(index uint64, now time.Time) {
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

// Nearest returns the last index noted at or before a time; zero if none was.
func (t *TimeTable) Nearest(at time.Time) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range slices.Backward(t.entries) {
		if e.Time <= at.UnixNano() {
			return e.Index
		}
	}
	return 0
}

// Persist writes the table, in front of a snapshot of the state: the number of entries,
// then each of them.
func (t *TimeTable) Persist(w io.Writer) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := binary.Write(w, binary.BigEndian, uint32(len(t.entries))); err != nil {
		return fmt.Errorf("persist time table: %w", err)
	}
	if err := binary.Write(w, binary.BigEndian, t.entries); err != nil {
		return fmt.Errorf("persist time table: %w", err)
	}
	return nil
}

// Copy returns a table that later entries do not change.
func (t *TimeTable) Copy() *TimeTable {
	t.mu.Lock()
	defer t.mu.Unlock()
	return &TimeTable{granularity: t.granularity, entries: slices.Clone(t.entries)}
}

// Restore reads what Persist wrote, and nothing after it.
func (t *TimeTable) Restore(r io.Reader) error {
	var n uint32
	if err := binary.Read(r, binary.BigEndian, &n); err != nil {
		return fmt.Errorf("restore time table: %w", err)
	}
	entries := make([]timeEntry, n)
	if err := binary.Read(r, binary.BigEndian, entries); err != nil {
		return fmt.Errorf("restore %d entries of the time table: %w", n, err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.entries = entries
	return nil
}
