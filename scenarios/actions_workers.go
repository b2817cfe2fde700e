package scenarios

import (
	"errors"
	"fmt"
	"time"
)

// Faults inside a server that goes on otherwise.
type (
	// CrashWorkers makes the workers of each of the servers lose the next Evals evaluations
	// they dequeue; no servers = all. What is lost comes back when its nack timer fires.
	CrashWorkers struct {
		Servers []Server
		Evals   int
	}
	// StickApplier makes a server's plan applier stand still, which matters while it leads.
	StickApplier struct {
		Server Server
		For    time.Duration
	}
)

func (a CrashWorkers) Mark() string {
	return fmt.Sprintf("workers crash with %s: %s", plural(a.Evals, "evaluation"), list(a.Servers))
}

func (a CrashWorkers) check(n int) error {
	err := checkServers(a.Servers, n)
	if a.Evals < 1 {
		err = errors.Join(err, fmt.Errorf("%d evaluations: at least one must be lost", a.Evals))
	}
	return err
}

func (a CrashWorkers) do(r *run) error {
	ids, err := r.pickAll(a.Servers)
	if err != nil {
		return err
	}
	for _, i := range ids {
		if !r.cluster.Running(i) {
			continue // its workers crashed with it
		}
		if err := r.cluster.CrashWorkers(i, a.Evals); err != nil {
			return err
		}
	}
	return nil
}

func (a StickApplier) Mark() string { return fmt.Sprintf("the plan applier of %v sticks", a.Server) }

func (a StickApplier) check(n int) error { return errors.Join(a.Server.check(n), lasting(a.For)) }

func (a StickApplier) do(r *run) error {
	i, err := r.pick(a.Server)
	if err != nil {
		return err
	}
	if err := r.cluster.StickApplier(i, true); err != nil {
		return err
	}
	r.begin(a.For, fmt.Sprintf("the plan applier of %v goes on", Server(i)), func() error {
		if !r.cluster.Running(i) {
			return nil // stopping it has freed the applier
		}
		return r.cluster.StickApplier(i, false)
	})
	return nil
}
