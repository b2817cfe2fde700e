package cluster

import (
	"context"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// schedulerConfigRequest replaces the scheduler configuration.
type schedulerConfigRequest struct{ Config rpc.SchedulerConfig }

// SetSchedulerConfig replaces the scheduler configuration (nomad/operator_endpoint.go,
// SchedulerSetConfiguration). Pausing the broker makes the leader forget every evaluation
// that is queued, delivered or blocked; they stay in state, as do those that are created
// meanwhile, and all of them are restored when it goes on.
func (c *Cluster) SetSchedulerConfig(ctx context.Context, cfg rpc.SchedulerConfig) error {
	_, err := userCall(ctx, c, "Operator.SchedulerSetConfiguration", "scheduler", func(l *server) (struct{}, error) {
		l.happened(func(c *Causes) { c.SchedulerConfigs++ })
		if _, err := l.raftApply(schedulerConfigRequestType, &schedulerConfigRequest{cfg}); err != nil {
			return struct{}{}, err
		}
		if l.setBrokers(true) {
			l.restoreEvals()
		}
		return struct{}{}, nil
	})
	return err
}

// PauseEvalBroker sets pause_eval_broker in the scheduler configuration and leaves the
// rest of that as it is.
func (c *Cluster) PauseEvalBroker(ctx context.Context, paused bool) error {
	var cfg rpc.SchedulerConfig
	if l := c.leader(); l != nil {
		cfg = l.store.Snapshot().SchedulerConfig()
	}
	cfg.PauseEvalBroker = paused
	return c.SetSchedulerConfig(ctx, cfg)
}

// setBrokers turns broker and blocked evaluations on or off, as the configuration says
// while this server leads, and reports whether they must be filled from state
// (nomad/leader.go, handleEvalBrokerStateChange). The call that changed the configuration
// and a change of leadership may meet here: each sees what the other did.
func (s *server) setBrokers(leading bool) (restore bool) {
	s.brokerMu.Lock()
	defer s.brokerMu.Unlock()
	if leading && s.raft.State() != raft.Leader {
		return false
	}
	on := leading && !s.store.Snapshot().SchedulerConfig().PauseEvalBroker
	if on != s.evals.Enabled() {
		s.evals.SetEnabled(on)
		if leading && !on {
			s.observeFlush()
		}
		restore = on
	}
	if on != s.blocked.isEnabled() {
		s.blocked.setEnabled(on, s.store.Snapshot().Index())
		restore = on
	}
	s.brokers.notify()
	return restore
}

// notifier wakes everybody who waits. The zero value is ready.
type notifier struct {
	mu      sync.Mutex
	changed chan struct{} // closed by the next notify; nil while nobody waits
}

func (n *notifier) notify() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changed != nil {
		close(n.changed)
		n.changed = nil
	}
}

// wait returns once a condition holds, which is looked at now and at every notify, or when
// ctx ends. A notify at the instant of the call may come before it or after: so what counts
// is the condition and not the notify.
func (n *notifier) wait(ctx context.Context, holds func() bool) {
	for ctx.Err() == nil {
		n.mu.Lock()
		if n.changed == nil {
			n.changed = make(chan struct{})
		}
		changed := n.changed
		n.mu.Unlock()
		if holds() {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

func (f *fsm) setSchedulerConfig(index uint64, req *schedulerConfigRequest) error {
	f.charge(0, 0)
	return f.srv.store.Update(index, func(tx *state.Tx) error {
		tx.SetSchedulerConfig(req.Config)
		return nil
	})
}
