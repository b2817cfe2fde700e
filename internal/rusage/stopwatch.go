package rusage

import "time"

// Stopwatch starts and stops the timer of a benchmark. While it runs it also measures CPU,
// which says more than the elapsed time on a machine that is busy otherwise. Set B; the
// watch does not run before the first Start.
type Stopwatch struct {
	// B is the benchmark's *testing.B.
	B interface {
		StartTimer()
		StopTimer()
		ReportMetric(n float64, unit string)
	}
	began, spent time.Duration
}

// Start starts the watch.
func (s *Stopwatch) Start() {
	s.began = CPU()
	s.B.StartTimer()
}

// Stop stops the watch, to prepare what should not be measured.
func (s *Stopwatch) Stop() {
	s.B.StopTimer()
	s.spent += CPU() - s.began
}

// Report reports the metric cpu-ns/op for n operations if the system tells processor times.
func (s *Stopwatch) Report(n int) {
	if s.spent > 0 {
		s.B.ReportMetric(float64(s.spent)/float64(n), "cpu-ns/op")
	}
}
