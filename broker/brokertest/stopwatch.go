package brokertest

import (
	"testing"
	"time"

	"github.com/simctl/simctl/internal/rusage"
)

// Stopwatch starts and stops a benchmark's timer. While it runs it also measures the
// processor time of all threads, the garbage collector's included, which says more than
// the elapsed time on a machine that is busy otherwise. Set B; the watch does not run
// before the first Start.
type Stopwatch struct {
	B *testing.B

	began, spent time.Duration
}

// Start starts the watch.
func (s *Stopwatch) Start() {
	s.began = rusage.CPU()
	s.B.StartTimer()
}

// Stop stops the watch, to prepare what should not be measured.
func (s *Stopwatch) Stop() {
	s.B.StopTimer()
	s.spent += rusage.CPU() - s.began
}

// Report reports the metric cpu-ns/op if the system tells processor times.
func (s *Stopwatch) Report() {
	if s.spent > 0 {
		s.B.ReportMetric(float64(s.spent)/float64(s.B.N), "cpu-ns/op")
	}
}
