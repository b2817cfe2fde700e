package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/scenarios/internal/actions"
)

// System is the cluster of a run, simulated or real.
type System interface {
	actions.Cluster
	// NodeServer is a server as clients see it.
	NodeServer(server int) rpc.NodeServer
	// Stats returns the present figures. Those that nobody can tell are NaN, or a nil map. Without
	// a leader the rest is as it was last seen.
	Stats() cluster.Stats
	// EntriesBetween counts log entries by type, between two indexes that Stats has returned; nil
	// if nobody can tell.
	EntriesBetween(after, upTo uint64) map[string]uint64
}

// inside is what is asked of servers in this process.
type inside interface {
	// Snapshots returns the state of every server.
	Snapshots() []*state.Snapshot
	// EndWrites ends all writing. It is for the end of a run.
	EndWrites()
	// Drained reports whether every server has applied all that was written.
	Drained() bool
}

// Other is servers of another design in this process, on virtual time.
type Other interface {
	System
	inside
	Shutdown() error
}

// inside returns the servers if they are in this process, and else nil.
func (r *run) inside() inside {
	switch {
	case r.sim != nil:
		return r.sim
	case r.other != nil:
		return r.other
	}
	return nil
}

// Simulated is a cluster in this process.
type Simulated struct {
	*cluster.Cluster
	reloaded chan struct{} // closed when the last change of num_schedulers is through
}

// SetSchedulers does not wait for workers to finish what they have in hand. They may be kept from it by a
// fault, which only a later event ends. A later change waits for this one.
func (s *Simulated) SetSchedulers(perServer int) error {
	before, through := s.reloaded, make(chan struct{})
	s.reloaded = through
	go func() {
		defer close(through)
		if before != nil {
			<-before
		}
		s.SetNumSchedulers(perServer)
	}()
	return nil
}

// Shutdown shuts the cluster down and waits for the last change of num_schedulers.
func (s *Simulated) Shutdown() error {
	err := s.Cluster.Shutdown()
	if s.reloaded != nil {
		<-s.reloaded
	}
	return err
}

// NodeIDs returns the IDs of all nodes, from the server that has applied the most entries.
func (s *Simulated) NodeIDs() []string {
	var ids []string
	for n := range s.latest().Nodes() {
		ids = append(ids, n.ID)
	}
	return ids
}

// EvalIDs returns evaluations in the order of their IDs, as the leader has them.
func (s *Simulated) EvalIDs(_ context.Context, status, triggeredBy string, count int) ([]string, error) {
	leader := s.Leader()
	if leader < 0 {
		return nil, fmt.Errorf("list evaluations: %w", rpc.ErrNoLeader)
	}
	var ids []string
	matches := matching(status, triggeredBy, count)
	for e := range s.State(leader).Snapshot().Evals() {
		if matches(e) {
			ids = append(ids, e.ID)
		}
	}
	return ids, nil
}

// matching returns a function that is true of as many evaluations as count, or of any number if that is zero.
func matching(status, triggeredBy string, count int) func(*broker.Evaluation) bool {
	left := cmp.Or(count, -1)
	return func(e *broker.Evaluation) bool {
		if left == 0 || e.Status != status || triggeredBy != "" && e.TriggeredBy != triggeredBy {
			return false
		}
		left--
		return true
	}
}

// DeleteEvals deletes evaluations, in one call.
func (s *Simulated) DeleteEvals(ctx context.Context, status, triggeredBy string, count int, ids []string) error {
	matches := matching(status, triggeredBy, count)
	if ids != nil {
		matches = nil
	}
	_, _, err := s.Cluster.DeleteEvals(ctx, ids, matches)
	return err
}

// CollectGarbage makes the cluster delete everything that is over.
func (s *Simulated) CollectGarbage(ctx context.Context) error { return s.ForceGC(ctx) }

// Snapshots returns the state of every server.
func (s *Simulated) Snapshots() []*state.Snapshot {
	var snaps []*state.Snapshot
	for i := range s.Servers() {
		snaps = append(snaps, s.State(i).Snapshot())
	}
	return snaps
}

// latest returns the state of a server that has applied no less than the others.
func (s *Simulated) latest() *state.Snapshot {
	return slices.MaxFunc(s.Snapshots(), func(a, b *state.Snapshot) int { return cmp.Compare(a.Index(), b.Index()) })
}
