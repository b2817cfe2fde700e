package rusage

import (
	"testing"
	"time"
)

// TestRing: a walk comes by every word before it comes by one again.
func TestRing(t *testing.T) {
	r := newRing(1000)
	seen := map[uint32]bool{}
	for range r.next {
		r.walk(1)
		seen[r.at] = true
	}
	if len(seen) != len(r.next) || r.at != 0 {
		t.Errorf("%d words of %d, and the walk ends at %d", len(seen), len(r.next), r.at)
	}
}

// TestReadTime is more than nothing, and less than a disk takes.
func TestReadTime(t *testing.T) {
	if took := ReadTime(); took <= 0 || took > 100*time.Microsecond {
		t.Errorf("a read of memory takes %v", took)
	}
}
