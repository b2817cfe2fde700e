package faults

import (
	"errors"
	"time"

	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

var (
	_ = actions.RegisterAction("slow_disk", SlowDisk{}, actions.Drawn(actions.OfServers, 4, 1, func(s *draw.Source) draw.Event {
		return draw.NewEvent("slow_disk", s.Lasts(), "longer = "+s.Delay(time.Millisecond, 400*time.Millisecond))
	}))
	_ = actions.RegisterAction("slow_apply", SlowApply{}, actions.Drawn(actions.OfServers, 5, 1, func(s *draw.Source) draw.Event {
		return draw.NewEvent("slow_apply", s.Lasts(), "longer = "+s.Delay(time.Millisecond, 200*time.Millisecond), "servers = ["+s.Server()+"]")
	}))
)

// SlowDisk makes every write to the Raft log take longer, and SlowApply what the state machine
// does for each entry.
type (
	SlowDisk  struct{ Slow }
	SlowApply struct{ Slow }
)

// Slow says by how much servers are slower, and for how long; no servers = all.
type Slow struct {
	Servers Servers
	Longer  time.Duration
	For     time.Duration
}

func (a Slow) Check(n int) error {
	return errors.Join(a.Servers.check(n), actions.Positive("the delay", a.Longer), actions.Lasting(a.For))
}

func (a SlowDisk) Mark() string  { return "slow disks: " + a.Servers.String() }
func (a SlowApply) Mark() string { return "slow state machines: " + a.Servers.String() }

func (a SlowDisk) Do(s *actions.Stage) error {
	return a.begin(s, s.Cluster.SlowDisk, "the disks are as fast as before")
}

func (a SlowApply) Do(s *actions.Stage) error {
	return a.begin(s, s.Cluster.SlowApply, "the state machines are as fast as before")
}

// begin makes the servers slower by what set adds.
func (a Slow) begin(s *actions.Stage, set func(int, time.Duration), mark string) error {
	ids, err := a.Servers.pick(s.Cluster)
	if err != nil {
		return err
	}
	for _, i := range ids {
		set(i, a.Longer)
	}
	s.Begin(a.For, mark, func() error {
		for _, i := range ids {
			set(i, -a.Longer)
		}
		return nil
	})
	return nil
}
