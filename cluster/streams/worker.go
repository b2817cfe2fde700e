package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/cluster/internal/server"
	"github.com/simctl/simctl/cluster/scheduler"
	"github.com/simctl/simctl/cluster/simnet"
	"github.com/simctl/simctl/cluster/state"
)

// worker takes evaluations, one at a time, and schedules them on its server's state.
type worker struct {
	*host
	id   int
	name string
	rand *rand.Rand
	work jetstream.Consumer
}

func newWorker(h *host, id int, work jetstream.Consumer) *worker {
	w := &worker{host: h, id: id, name: fmt.Sprintf("worker-%d", id), work: work}
	seed := simnet.HashStrings(h.seed, w.name, strconv.Itoa(h.crews))
	w.rand = rand.New(rand.NewPCG(seed, simnet.Mix(seed)))
	return w
}

// run works until ctx ends.
func (w *worker) run(ctx context.Context) {
	leader.Sleep(ctx, w.turn(w.id)) // workers that start at one instant must not ask at one
	busy := &w.c.busy
	busy.Change(1, 0)
	defer busy.Change(-1, 0)
	for ctx.Err() == nil {
		m, err := take(ctx, w.work)
		if m == nil {
			if err != nil && ctx.Err() == nil {
				panic(fmt.Sprintf("streams: %s: take an evaluation: %v", w.addr, err))
			}
			continue
		}
		w.c.journal.count(func(j *journal) { j.inHand++ })
		busy.Change(0, 1)
		err = w.process(m)
		busy.Change(0, -1)
		w.c.journal.count(func(j *journal) {
			j.inHand--
			if err == nil {
				j.counters.EvalsProcessed++
			}
		})
		if err != nil && w.ctx.Err() == nil {
			panic(fmt.Sprintf("streams: %s: %v", w.addr, err))
		}
	}
}

// process works on one evaluation. What it leads to is written before it is acknowledged.
func (w *worker) process(m jetstream.Msg) error {
	key := keyOf(m)
	w.taken(w.c.evalHome(), key, 1)
	e := &broker.Evaluation{}
	if err := json.Unmarshal(m.Data(), e); err != nil {
		return fmt.Errorf("decode an evaluation: %w", err)
	}
	began := time.Now()
	if o := w.c.cfg.Observer; o != nil {
		o.Dequeued(began, e, began.Sub(time.Unix(0, e.CreateTime)))
	}
	if err := w.plan(e); err != nil {
		return err
	}
	if err := w.ack(w.c.evalHome(), m, key, EntryAcked, EntryRemoved); err != nil {
		return err
	}
	if o := w.c.cfg.Observer; o != nil {
		o.Acked(time.Now(), e, time.Since(began), 0)
	}
	return nil
}

// newest returns a state with everything that had been written when newest was called. A state with the
// evaluation's index is not enough. Of two servers that take changes, the one with the older change may write its
// evaluation last, and that then replaces the evaluation of the newer change.
func (w *worker) newest() (*state.Snapshot, error) {
	ctx, cancel := context.WithTimeout(w.ctx, apiTimeout)
	defer cancel()
	home := addr(w.c.stateHome())
	if err := w.c.network.Send(w.ctx, w.addr, home, "last/"+w.name); err != nil {
		return nil, err
	}
	w.c.use(w.c.stateHome(), "last/"+w.addr+w.name, w.c.cfg.Costs.RPC.Serve)
	about, err := w.c.state.Info(ctx)
	if err != nil {
		return nil, fmt.Errorf("ask for the last sequence: %w", err)
	}
	if err := w.c.network.Send(w.ctx, home, w.addr, "last/"+w.name); err != nil {
		return nil, err
	}
	return w.await(w.ctx, about.State.LastSeq)
}

// plan makes plans until the scheduler is content or gives up.
func (w *worker) plan(e *broker.Evaluation) error {
	snap, err := w.newest()
	if err != nil {
		return err
	}
	for {
		sched, err := scheduler.New(e, w.cache, w.rand)
		if err != nil {
			return err
		}
		beaten, err := w.attempt(e, sched, snap)
		if err != nil || !beaten {
			return err
		}
		// Another worker has planned for the job meanwhile.
		w.c.journal.count(func(j *journal) { j.conflicts++ })
		if snap, err = w.newest(); err != nil {
			return err
		}
	}
}

// attempt plans from a state. It reports whether another plan of the job came first.
func (w *worker) attempt(e *broker.Evaluation, sched *scheduler.Scheduler, snap *state.Snapshot) (beaten bool, err error) {
	subject := planSubject + token(e.Namespace, e.JobID)
	for {
		after := w.lastPlan(subject, snap)
		a := sched.Plan(snap, time.Now())
		w.c.use(w.host.id, w.name, server.Scheduling(w.c.cfg.Costs.Scheduler[e.Type], a.Work))
		if a.Plan == nil {
			return false, nil
		}
		result, err := w.submit(e, a.Plan, subject, after)
		if conflicts(err) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
		if !sched.Committed(result) {
			return false, nil
		}
		snap = w.store.Snapshot()
	}
}

// lastPlan returns the sequence of the job's last plan, after which a plan made on snap must be written. If snap does not
// have that plan it returns zero, which makes the new plan be refused.
func (w *worker) lastPlan(subject string, snap *state.Snapshot) uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	if last := w.plans[subject]; last <= snap.Index() {
		return last
	}
	return 0
}

// submit writes a plan and returns what became of it.
func (w *worker) submit(e *broker.Evaluation, p *scheduler.Plan, subject string, after uint64) (*scheduler.PlanResult, error) {
	w.c.use(w.host.id, "plan/"+w.name, time.Duration(p.Size())*w.c.cfg.Costs.Plan.PerAlloc)
	whole := &scheduler.PlanResult{NodeUpdate: p.NodeUpdate, NodeAllocation: p.NodeAllocation, Deployment: p.Deployment, DeploymentUpdates: p.DeploymentUpdates}
	w.expect(e.ID)
	w.c.journal.count(func(j *journal) { j.counters.PlansSubmitted++ })
	seq, err := w.writeState(subject, fsm.ApplyPlanResults.With(whole.Commit(e.ID, time.Now().UnixNano())), &after)
	result := w.verdict(e.ID)
	if err != nil {
		return nil, err
	}
	if result == nil {
		return nil, fmt.Errorf("plan %d of evaluation %s was folded without a verdict", seq, e.ID)
	}
	return result, nil
}
