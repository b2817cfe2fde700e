package run

import (
	"time"

	"github.com/simctl/simctl/internal/rusage"
	"github.com/simctl/simctl/metrics"
)

// hostStart is the wall and processor time at the start of a run.
type hostStart struct {
	wall time.Time
	cpu  time.Duration
}

func startHost() hostStart {
	return hostStart{time.Now(), rusage.CPU()}
}

// host returns the cost since then. The memory is that of the whole process.
func (h hostStart) host() metrics.Host {
	return metrics.Host{WallS: time.Since(h.wall).Seconds(), CPUS: (rusage.CPU() - h.cpu).Seconds(), PeakRSSBytes: rusage.PeakRSS()}
}
