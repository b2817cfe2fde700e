package streams

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/server"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/scheduler"
	"github.com/simctl/simctl/cluster/state"
)

// view is a server's state: the stream of changes, folded. All servers fold the same messages
// in the same order, plans included: one that does not fit any more is refused by each of
// them alike, so nobody has to apply plans for the others.
type view struct {
	store *state.Store

	mu sync.Mutex
	// plans has the sequence of each job's last plan, by subject, and verdicts what became of the plans of
	// evaluations that this server's workers have, by the evaluation's ID.
	plans    map[string]uint64
	verdicts map[string]*scheduler.PlanResult

	following jetstream.ConsumeContext
}

// follow begins to fold the stream.
func (h *host) follow(ctx context.Context) error {
	h.store = state.New()
	h.store.WakeAtIndex = true
	h.store.Ladder = func(int) time.Duration { return time.Minute }
	h.plans, h.verdicts = map[string]uint64{}, map[string]*scheduler.PlanResult{}
	all, err := h.js.OrderedConsumer(ctx, stateStream, jetstream.OrderedConsumerConfig{})
	if err != nil {
		return fmt.Errorf("follow stream %s: %w", stateStream, err)
	}
	h.following, err = all.Consume(func(m jetstream.Msg) {
		if err := h.fold(sequence(m), m.Subject(), m.Data()); err != nil {
			panic(fmt.Sprintf("streams: %s: %v", h.addr, err))
		}
	})
	return err
}

func (h *host) unfollow() {
	if h.following != nil {
		h.following.Stop()
		<-h.following.Closed()
	}
}

// fold takes a message into the state.
func (h *host) fold(seq uint64, subject string, data []byte) error {
	if seq <= h.store.Index() {
		return nil
	}
	cmd, err := fsm.Decode(data)
	if err != nil {
		return err
	}
	cost := cmd.Cost(h.c.cfg.Costs.FSM, h.store).Total()
	results, isPlan := fsm.ApplyPlanResults.Of(cmd)
	var plan *scheduler.Plan
	if isPlan {
		snap := h.store.Snapshot()
		plan = planOf(snap, results)
		cost += server.Verifying(h.c.cfg.Costs.Plan, plan, snap)
	}
	h.c.use(h.id, "fold", cost)
	if isPlan {
		cmd = h.verify(seq, plan, results)
	}
	// Nobody may see the state after a plan without the plan.
	h.mu.Lock()
	defer h.mu.Unlock()
	if isPlan {
		h.plans[subject] = seq
	}
	fx, err := cmd.Apply(h.store, seq)
	if err != nil {
		return fmt.Errorf("fold message %d (%v): %w", seq, cmd.Type, err)
	}
	if h.id == 0 {
		h.c.journal.count(func(j *journal) { j.counters.NodesDown += fx.Counters.NodesDown })
	}
	return nil
}

// planOf returns the plan that a message is about.
func planOf(snap *state.Snapshot, r *state.PlanResults) *scheduler.Plan {
	p := &scheduler.Plan{NodeUpdate: map[string][]*rpc.Allocation{}, NodeAllocation: map[string][]*rpc.Allocation{}}
	for _, a := range r.AllocsUpdated {
		p.NodeAllocation[a.NodeID] = append(p.NodeAllocation[a.NodeID], a)
	}
	for _, d := range r.AllocsStopped {
		a := snap.AllocByID(d.ID)
		if a == nil {
			continue
		}
		stop := a.Copy()
		stop.DesiredStatus, stop.DesiredDescription = rpc.AllocDesiredStop, d.DesiredDescription
		stop.ClientStatus, stop.FollowupEvalID = cmp.Or(d.ClientStatus, a.ClientStatus), d.FollowupEvalID
		p.NodeUpdate[a.NodeID] = append(p.NodeUpdate[a.NodeID], stop)
	}
	return p
}

// verify returns the part of a plan that fits into the state, and notes it for the worker.
func (h *host) verify(seq uint64, p *scheduler.Plan, r *state.PlanResults) fsm.Command {
	result := scheduler.EvaluatePlan(h.store.Snapshot(), p)
	result.AllocIndex = seq
	if result.RefreshIndex != 0 {
		result.RefreshIndex = seq
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, mine := h.verdicts[r.EvalID]; mine {
		h.verdicts[r.EvalID] = result
	}
	return fsm.ApplyPlanResults.With(result.Commit("", r.UpdatedAt))
}

// await returns a state that includes an index.
func (h *host) await(ctx context.Context, index uint64) (*state.Snapshot, error) {
	return h.store.SnapshotMinIndex(ctx, index, time.Hour)
}

// expect makes the view keep the verdict of the evaluation's next plan.
func (v *view) expect(evalID string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.verdicts[evalID] = nil
}

// verdict returns what became of the plan, and forgets it; nil if it was not folded.
func (v *view) verdict(evalID string) *scheduler.PlanResult {
	v.mu.Lock()
	defer v.mu.Unlock()
	defer delete(v.verdicts, evalID)
	return v.verdicts[evalID]
}
