package faults

import (
	"errors"
	"fmt"
	"time"

	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
	"github.com/simctl/simctl/scenarios/internal/english"
)

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
		err = errors.Join(err, fmt.Errorf("%d evaluations: at least one must be lost", a.Evals))
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
		if err := s.Cluster.CrashWorkers(i, a.Evals); err != nil {
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
	if err := s.Cluster.StickApplier(i, true); err != nil {
		return err
	}
	s.Begin(a.For, fmt.Sprintf("the plan applier of %v goes on", Server(i)), func() error {
		if !s.Cluster.Running(i) {
			return nil // stopping it has freed the applier
		}
		return s.Cluster.StickApplier(i, false)
	})
	return nil
}

func drawStickApplier(s *draw.Source) draw.Event { return draw.NewEvent("stick_applier", s.Lasts()) }
