package run

import (
	"errors"
	"fmt"
	"time"

	"github.com/simctl/simctl/internal/rusage"
)

// Limits bound what a run takes of the machine. Zero is no limit.
type Limits struct {
	Time   time.Duration `json:"max_time,omitempty"`   // on the machine's clock, since the run began
	Memory int64         `json:"max_memory,omitempty"` // bytes that the process has held at most
}

// reached returns the limit that a run has reached after so long, as a flag; "" for none.
func (l Limits) reached(wall time.Duration) string {
	switch {
	case l.Time > 0 && wall >= l.Time:
		return fmt.Sprintf("--max-time %v", l.Time)
	case l.Memory > 0 && rusage.PeakRSS() >= uint64(l.Memory):
		return fmt.Sprintf("--max-memory %dMiB", l.Memory>>20)
	}
	return ""
}

// errStopped ends a phase of a run that has reached a limit.
var errStopped = errors.New("the run has reached a limit")

// withinLimits returns errStopped if the run has reached a limit. It asks nobody but the machine
// and waits for nothing, so virtual time does not notice it.
func (r *run) withinLimits() error {
	if r.stopped = r.sc.Limits.reached(r.world.Wall()); r.stopped == "" {
		return nil
	}
	r.stage.Note("stopped by " + r.stopped)
	return errStopped
}

// brokenOff turns an error that ends a phase of a run in a real cluster, such as a leader that is gone for good, into
// errStopped. So the run keeps its Result, since what was measured until then took long and holds all the same.
func (r *run) brokenOff(err error) error {
	if err == nil || errors.Is(err, errStopped) || r.sim != nil || r.other != nil {
		return err
	}
	r.stopped = fmt.Sprintf("an error (%v)", err)
	r.stage.Note("stopped by " + r.stopped)
	return errStopped
}
