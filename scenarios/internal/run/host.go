package run

import (
	"time"

	"github.com/simctl/simctl/internal/rusage"
	"github.com/simctl/simctl/metrics"
)

// hostStart is what a run's cost to the machine is counted from.
type hostStart struct {
	wall time.Time
	cpu  time.Duration
}

func startHost() hostStart {
	return hostStart{time.Now(), rusage.CPU()}
}

// host returns the cost so far. The memory is the whole process's: RunAll gives every run
// a process of its own.
func (h hostStart) host() metrics.Host {
	return metrics.Host{WallS: time.Since(h.wall).Seconds(), CPUS: (rusage.CPU() - h.cpu).Seconds(), PeakRSSBytes: rusage.PeakRSS()}
}
