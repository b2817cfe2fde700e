package brokertest

import (
	"testing"
	"time"

	"github.com/simctl/simctl/internal/rusage"
)

// Stopwatch stops and starts a benchmark's timer and measures the processor time spent
// while it ran, all threads and the garbage collector's included. On a machine that does
// other work as well that says more than the elapsed time. The zero value with B set is
// ready for use; it counts the first time from Start on.
type Stopwatch struct {
	B *testing.B

	began, spent time.Duration
}

// Start lets the time run.
func (s *Stopwatch) Start() {
	s.began = rusage.CPU()
	s.B.StartTimer()
}

// Stop halts the time, to prepare what should not be measured.
func (s *Stopwatch) Stop() {
	s.B.StopTimer()
	s.spent += rusage.CPU() - s.began
}

// Report adds the metric cpu-ns/op, unless the system does not tell processor times.
func (s *Stopwatch) Report() {
	if s.spent > 0 {
		s.B.ReportMetric(float64(s.spent)/float64(s.B.N), "cpu-ns/op")
	}
}
