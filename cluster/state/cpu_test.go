package state

import (
	"testing"

	"github.com/simctl/simctl/internal/rusage"
)

// reportCPU makes a benchmark report the processor time it used, which says more than
// the elapsed time on a machine that does other work at the same time. Call the result
// when done.
func reportCPU(b *testing.B) func() {
	start := rusage.CPU()
	return func() {
		b.ReportMetric(float64(rusage.CPU()-start)/float64(b.N), "cpu-ns/op")
	}
}
