package cluster

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/simctl/simctl/broker"
)

// barrierRetry is how long a new leader waits before it tries again to catch up.
const barrierRetry = time.Second

// monitorLeadership starts and stops the leader's loops as Raft says
// (nomad/leader.go, monitorLeadership).
func (s *server) monitorLeadership(leading <-chan bool) {
	var stop func()
	for {
		select {
		case is := <-leading:
			if is == (stop != nil) {
				continue
			}
			if is {
				stop = s.lead()
			} else {
				stop()
				stop = nil
			}
		case <-s.ctx.Done():
			if stop != nil {
				stop()
			}
			return
		}
	}
}

// lead runs the leader until the returned function is called, which waits for it.
func (s *server) lead() (stop func()) {
	ctx, cancel := context.WithCancel(s.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.happened(func(c *Causes) { c.Leaderships++ })
		for s.barrier() != nil {
			select {
			case <-time.After(barrierRetry):
			case <-ctx.Done():
				return
			}
		}
		s.establishLeadership(ctx)
	}()
	return func() {
		s.established.Store(false)
		cancel()
		<-done
	}
}

// barrier waits until this server has applied what the leaders before it wrote.
func (s *server) barrier() error {
	s.happened(func(c *Causes) { c.Barriers++ })
	return s.raft.Barrier(0).Error()
}

// establishLeadership enables everything only the leader runs, in Nomad's order,
// waits until leadership ends, and disables it all again.
func (s *server) establishLeadership(ctx context.Context) {
	var loops loopGroup
	s.pauseWorkers(true)
	s.plans.setEnabled(true)
	loops.run(func() { s.applyPlans(ctx) })
	restore := s.setBrokers(true)
	s.deployments.start(s.store.Snapshot())
	s.drains.start(s.store.Snapshot())
	if restore {
		s.restoreEvals()
	}
	missed := s.periodic.start(s.store.Snapshot())
	s.beats.start(slices.Collect(s.store.Snapshot().Nodes()))
	s.established.Store(true)

	loops.run(func() { s.reapFailedEvals(ctx) })
	loops.run(func() { s.reapDuplicateBlocked(ctx) })
	loops.run(func() { s.reapCancelable(ctx) })
	loops.run(func() { s.unblockFailed(ctx) })
	loops.run(func() { s.drains.run(ctx) })
	loops.run(func() { s.periodic.run(ctx, missed) })
	s.scheduleCore(ctx, &loops)

	<-ctx.Done()
	s.established.Store(false)
	s.plans.setEnabled(false)
	s.setBrokers(false)
	s.observeFlush()
	s.deployments.stop()
	s.periodic.stop()
	s.beats.stop()
	loops.wait()
	s.drains.stop()
	s.pauseWorkers(false)
}

// restoreEvals puts every evaluation that is not finished back where it waits
// (nomad/leader.go, restoreEvals). Nomad enqueues one by one in the order of their
// IDs; the order they were created in gives the same queues.
func (s *server) restoreEvals() {
	snap := s.store.Snapshot()
	for _, e := range slices.SortedFunc(slices.Values(snap.EvalsByStatus(broker.StatusPending)), createdFirst) {
		s.evals.Enqueue(e)
	}
	for _, e := range slices.SortedFunc(slices.Values(snap.EvalsByStatus(broker.StatusBlocked)), createdFirst) {
		s.blocked.block(e, "")
	}
}

func createdFirst(a, b *broker.Evaluation) int {
	return cmp.Or(cmp.Compare(a.CreateIndex, b.CreateIndex), cmp.Compare(a.ID, b.ID))
}

func (s *server) observeFlush() {
	if o := s.cfg.Observer; o != nil {
		o.Flushed(time.Now())
	}
}
