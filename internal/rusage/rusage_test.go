//go:build unix

package rusage

import "testing"

// TestWhatIsUsedCounts: computing shows, and so does memory that was touched.
func TestWhatIsUsedCounts(t *testing.T) {
	before := CPU()
	block := make([]byte, 64<<20)
	for touched := false; !touched || CPU() == before; touched = true {
		for i := range block {
			block[i]++
		}
	}
	if peak := PeakRSS(); peak < uint64(len(block)) {
		t.Errorf("peak of %d bytes after %d were touched", peak, len(block))
	}
}
