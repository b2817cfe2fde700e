package state

import (
	"testing"

	"github.com/simctl/simctl/internal/rusage"
)

// reportCPU makes a benchmark report the processor time it used, which other work on the
// machine disturbs less than the elapsed time. The benchmark calls the result at its end.
func reportCPU(b *testing.B) func() {
	start := rusage.CPU()
	return func() {
		b.ReportMetric(float64(rusage.CPU()-start)/float64(b.N), "cpu-ns/op")
	}
}
