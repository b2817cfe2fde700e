//go:build unix

package rusage

import (
	"runtime"
	"testing"
	"time"
)

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

// TestTheMachineWorks at least as long as this process, where the system says so.
func TestTheMachineWorks(t *testing.T) {
	before, _, processors := Machine()
	if runtime.GOOS != "linux" {
		if before != 0 || processors != 0 {
			t.Errorf("%v on %d processors, of which %s tells nothing", before, processors, runtime.GOOS)
		}
		return
	}
	if processors < runtime.NumCPU() {
		t.Errorf("%d processors, and this process may use %d", processors, runtime.NumCPU())
	}
	const work = 100 * time.Millisecond
	for began := CPU(); CPU() < began+work; {
	}
	const tick = 10 * time.Millisecond
	if after, _, _ := Machine(); after-before < work-4*tick {
		t.Errorf("the machine worked for %v, and this process for %v", after-before, work)
	}
}
