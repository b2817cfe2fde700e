package faults

import (
	"errors"
	"time"

	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

var _ = actions.RegisterAction("slow_disk", SlowDisk{}, actions.Drawn(actions.OfServers, 4, 1, drawSlowDisk))

// SlowDisk makes every write to the Raft log take that much longer; no servers = all.
type SlowDisk struct {
	Servers Servers
	Longer  time.Duration
	For     time.Duration
}

func (a SlowDisk) Check(n int) error {
	return errors.Join(a.Servers.check(n), actions.Positive("the delay", a.Longer), actions.Lasting(a.For))
}

func (a SlowDisk) Mark() string { return "slow disks: " + a.Servers.String() }

func (a SlowDisk) Do(s *actions.Stage) error {
	return a.Servers.slow(s, a.Longer, a.For, s.Cluster.SlowDisk, "the disks are as fast as before")
}

func drawSlowDisk(s *draw.Source) draw.Event {
	return draw.NewEvent("slow_disk", s.Lasts(), "longer = "+s.Delay(time.Millisecond, 400*time.Millisecond))
}
