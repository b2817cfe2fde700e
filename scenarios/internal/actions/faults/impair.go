package faults

import (
	"errors"
	"fmt"
	"time"

	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
	"github.com/simctl/simctl/scenarios/internal/english"
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
	return a.begin(s, s.Simulated.SlowDisk, "the disks are as fast as before")
}

func (a SlowApply) Do(s *actions.Stage) error {
	return a.begin(s, s.Simulated.SlowApply, "the state machines are as fast as before")
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

var _ = actions.RegisterAction("step_clocks", StepClocks{}, actions.Drawn(actions.OfServers, 9, 1, drawStepClocks))

// StepClocks sets the wall clocks of servers ahead or back; no servers = all.
type StepClocks struct {
	Servers     Servers
	Ahead, Back time.Duration // one of them
	For         time.Duration
}

// maxStep is more than any clock is wrong by.
const maxStep = 366 * 24 * time.Hour

func (a StepClocks) Check(n int) error {
	err := errors.Join(a.Servers.check(n), actions.Lasting(a.For))
	if by := a.Ahead + a.Back; by <= 0 || by > maxStep || a.Ahead != 0 && a.Back != 0 {
		err = errors.Join(err, fmt.Errorf("ahead %v and back %v: one of them must be given, at most %v", a.Ahead, a.Back, maxStep))
	}
	return err
}

func (a StepClocks) Mark() string {
	if a.Back > 0 {
		return fmt.Sprintf("clocks are set back by %v: %v", a.Back, a.Servers)
	}
	return fmt.Sprintf("clocks are set ahead by %v: %v", a.Ahead, a.Servers)
}

func (a StepClocks) Do(s *actions.Stage) error {
	return Slow{a.Servers, a.Ahead - a.Back, a.For}.begin(s, s.Simulated.StepClock, "the clocks are right again")
}

func drawStepClocks(s *draw.Source) draw.Event {
	way := "ahead = "
	if s.Chance(1, 2) {
		way = "back = "
	}
	return draw.NewEvent("step_clocks", s.Lasts(), way+s.Delay(time.Second, 10*time.Minute), "servers = ["+s.Server()+"]")
}

var _ = actions.RegisterAction("crash_workers", CrashWorkers{Evals: 1}, actions.Drawn(actions.OfServers, 6, 1, drawCrashWorkers))

// CrashWorkers makes the workers of each of the servers lose the next Evals evaluations they
// dequeue; no servers = all. What is lost comes back when its nack timer fires.
type CrashWorkers struct {
	Servers Servers
	Evals   int
}

func (a CrashWorkers) Check(n int) error {
	err := a.Servers.check(n)
	if a.Evals < 1 {
		err = errors.Join(err, fmt.Errorf("evals is %d: at least one must be lost", a.Evals))
	}
	return err
}

func (a CrashWorkers) Mark() string {
	return fmt.Sprintf("workers crash with %s: %v", english.Plural(a.Evals, "evaluation"), a.Servers)
}

func (a CrashWorkers) Do(s *actions.Stage) error {
	ids, err := a.Servers.pick(s.Cluster)
	if err != nil {
		return err
	}
	for _, i := range ids {
		if !s.Cluster.Running(i) {
			continue // its workers crashed with it
		}
		if err := s.Simulated.CrashWorkers(i, a.Evals); err != nil {
			return err
		}
	}
	return nil
}

func drawCrashWorkers(s *draw.Source) draw.Event {
	return draw.NewEvent("crash_workers", fmt.Sprintf("evals = %d", 1+s.Rand.IntN(3)))
}

var _ = actions.RegisterAction("stick_applier", StickApplier{Server: Leader}, actions.Drawn(actions.OfServers, 7, 1, drawStickApplier))

// StickApplier makes a server's plan applier stand still, which matters while it leads.
type StickApplier struct {
	Server Server
	For    time.Duration
}

func (a StickApplier) Check(n int) error {
	return errors.Join(a.Server.check(n), actions.Lasting(a.For))
}

func (a StickApplier) Mark() string { return fmt.Sprintf("the plan applier of %v sticks", a.Server) }

func (a StickApplier) Do(s *actions.Stage) error {
	i, err := a.Server.pick(s.Cluster)
	if err != nil {
		return err
	}
	if err := s.Simulated.StickApplier(i, true); err != nil {
		return err
	}
	s.Begin(a.For, fmt.Sprintf("the plan applier of %v goes on", Server(i)), func() error {
		if !s.Cluster.Running(i) {
			return nil // stopping it has freed the applier
		}
		return s.Simulated.StickApplier(i, false)
	})
	return nil
}

func drawStickApplier(s *draw.Source) draw.Event { return draw.NewEvent("stick_applier", s.Lasts()) }

var _ = actions.RegisterAction("fill_disk", FillDisk{Servers: Servers{Leader}}, actions.Drawn(actions.OfServers, 8, 1, func(s *draw.Source) draw.Event {
	return draw.NewEvent("fill_disk", s.Lasts(), "servers = ["+s.Server()+"]")
}))

// FillDisk leaves no room for entries of the Raft log. A server whose disk is full ceases to lead.
type FillDisk struct {
	Servers Servers
	For     time.Duration
}

func (a FillDisk) Check(n int) error { return errors.Join(a.Servers.check(n), actions.Lasting(a.For)) }

func (a FillDisk) Mark() string { return "full disks: " + a.Servers.String() }

func (a FillDisk) Do(s *actions.Stage) error {
	ids, err := a.Servers.pick(s.Cluster)
	if err != nil {
		return err
	}
	for _, i := range ids {
		s.Simulated.FillDisk(i, true)
	}
	s.Begin(a.For, "the disks have room again", func() error {
		for _, i := range ids {
			s.Simulated.FillDisk(i, false)
		}
		return nil
	})
	return nil
}
