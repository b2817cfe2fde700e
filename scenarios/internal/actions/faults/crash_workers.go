package faults

import (
	"errors"
	"fmt"

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
