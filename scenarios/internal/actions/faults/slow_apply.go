package faults

import (
	"errors"
	"time"

	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

var _ = actions.RegisterAction("slow_apply", SlowApply{}, actions.Drawn(actions.OfServers, 5, 1, drawSlowApply))

// SlowApply makes the state machine take that much longer for each entry; no servers = all.
type SlowApply struct {
	Servers Servers
	Longer  time.Duration
	For     time.Duration
}

func (a SlowApply) Check(n int) error {
	return errors.Join(a.Servers.check(n), actions.Positive("the delay", a.Longer), actions.Lasting(a.For))
}

func (a SlowApply) Mark() string { return "slow state machines: " + a.Servers.String() }

func (a SlowApply) Do(s *actions.Stage) error {
	return a.Servers.slow(s, a.Longer, a.For, s.Cluster.SlowApply, "the state machines are as fast as before")
}

func drawSlowApply(s *draw.Source) draw.Event {
	return draw.NewEvent("slow_apply", s.Lasts(), "longer = "+s.Delay(time.Millisecond, 200*time.Millisecond), "servers = ["+s.Server()+"]")
}
