package leader

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/scheduler"
	"github.com/simctl/simctl/cluster/simnet"
	"github.com/simctl/simctl/cluster/state"
)

// Evaluations is the leader's broker and its blocked evaluations, which are enabled and
// filled together. It is safe for concurrent use.
type Evaluations struct {
	Broker  *EvalService
	Blocked *BlockedEvals

	log  Log
	cfg  *config.Config
	seed uint64

	// mu serialises turning broker and blocked evaluations on and off.
	mu sync.Mutex
	// switched is notified when either is.
	switched Notifier
	// reap wakes the cancelable reaper; it never blocks an Ack.
	reap chan struct{}
}

// NewEvaluations returns a broker and blocked evaluations that are disabled.
func NewEvaluations(l Log, cfg *config.Config, seed uint64) *Evaluations {
	newService := NewEvalService
	if cfg.Design.WorkQueue {
		newService = newJobService
	}
	service := newService(broker.Config{
		Policy:              cfg.Policy,
		NackTimeout:         cfg.Eval.NackTimeout,
		InitialNackDelay:    cfg.Eval.InitialNackDelay,
		SubsequentNackDelay: cfg.Eval.SubsequentNackDelay,
		DeliveryLimit:       cfg.Eval.DeliveryLimit,
		Ahead:               func() time.Duration { return time.Until(l.Wall()) },
		Rand:                rand.New(rand.NewPCG(seed, simnet.HashStrings(seed, "broker"))),
	})
	service.Wake = cfg.Costs.RPC.Wake
	return &Evaluations{
		Broker: service, Blocked: newBlockedEvals(service), log: l, cfg: cfg, seed: seed, reap: make(chan struct{}, 1),
	}
}

// SetEnabled turns broker and blocked evaluations on or off, as the scheduler configuration
// says while this server leads, and reports whether Restore must fill them
// (nomad/leader.go, handleEvalBrokerStateChange). The call that changed the configuration
// and a change of leadership may meet here: each sees what the other did.
func (v *Evaluations) SetEnabled(leading bool) (restore bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if leading && !v.log.Leads() {
		return false
	}
	on := leading && !v.log.Snapshot().SchedulerConfig().PauseEvalBroker
	if on != v.Broker.Enabled() {
		v.Broker.SetEnabled(on)
		if leading && !on {
			v.Flushed()
		}
		restore = on
	}
	if on != v.Blocked.isEnabled() {
		v.Blocked.setEnabled(on, v.log.Snapshot().Index())
		restore = on
	}
	v.switched.Notify()
	return restore
}

// Restore puts every evaluation that is not finished back where it waits
// (nomad/leader.go, restoreEvals). Nomad enqueues one by one in the order of their
// IDs; the order they were created in gives the same queues.
func (v *Evaluations) Restore() {
	snap := v.log.Snapshot()
	if v.cfg.Design.WorkQueue {
		v.resync(snap)
		return
	}
	pending := PendingEvals(snap)
	if v.cfg.Design.RestoreBest {
		pending = v.bestOfEachJob(pending)
	}
	for _, e := range pending {
		v.Broker.Enqueue(e)
	}
	for _, e := range slices.SortedFunc(slices.Values(snap.EvalsByStatus(broker.StatusBlocked)), createdFirst) {
		v.Blocked.Block(e, "")
	}
}

// PendingEvals returns the pending evaluations of a state in the order in which they were created.
func PendingEvals(snap *state.Snapshot) []*broker.Evaluation {
	return slices.SortedFunc(slices.Values(snap.EvalsByStatus(broker.StatusPending)), createdFirst)
}

// WaitIndex returns the index that a worker's state must include before it plans for an evaluation
// that it was given just now: that of the newest evaluation of the job (nomad/eval_endpoint.go,
// getWaitIndex), unless the design asks for more.
func WaitIndex(d config.DesignConfig, snap *state.Snapshot, e *broker.Evaluation) uint64 {
	index := max(e.ModifyIndex, snap.JobEvals(e.Job()).MaxModifyIndex)
	switch {
	case d.NewestState:
		index = max(index, snap.Index())
	case d.WorkQueue:
		// In Nomad each plan raises the index of its evaluation, so that the next run of the job
		// sees the plan.
		index = max(index, snap.JobChangedAt(e.Job()))
	}
	return index
}

// bestOfEachJob returns the best evaluation of each job, and hands the others to the reaper.
// Those that wait for a time are not compared.
func (v *Evaluations) bestOfEachJob(pending []*broker.Evaluation) []*broker.Evaluation {
	best := map[broker.JobID]*broker.Evaluation{}
	for _, e := range pending {
		if b := best[e.Job()]; !e.Waits() && (b == nil || v.cfg.Policy.Less(e, b)) {
			best[e.Job()] = e
		}
	}
	var kept, others []*broker.Evaluation
	for _, e := range pending {
		if e.Waits() || best[e.Job()] == e {
			kept = append(kept, e)
		} else {
			others = append(others, e)
		}
	}
	v.Broker.Cancel(others)
	return kept
}

func createdFirst(a, b *broker.Evaluation) int {
	return cmp.Or(cmp.Compare(a.CreateIndex, b.CreateIndex), cmp.Compare(a.ID, b.ID))
}

// Written takes an evaluation that the state machine wrote (nomad/fsm.go,
// handleUpsertedEval).
func (v *Evaluations) Written(e *broker.Evaluation) {
	switch {
	case e.ShouldEnqueue():
		v.Broker.Enqueue(e)
	case e.ShouldBlock():
		v.Blocked.Block(e, "")
	case e.Status == broker.StatusComplete && len(e.FailedTGAllocs) == 0:
		v.Blocked.untrack(e.Job())
	}
}

// Dequeue waits for an evaluation for one of the scheduler types; the zero Delivery means
// that none came up in time.
//
// While the broker is off it waits until it is on, and then for the worker's own
// turn: all workers are woken at one instant, and must not ask again at one.
func (v *Evaluations) Dequeue(ctx context.Context, schedulers []string, timeout, turn time.Duration) (broker.Delivery, error) {
	d, err := v.Broker.Deliver(ctx, schedulers, timeout)
	if errors.Is(err, broker.ErrDisabled) {
		// Paused or losing leadership: as good as an empty queue.
		waited, cancel := context.WithTimeout(ctx, timeout)
		v.switched.Wait(waited, v.Broker.Enabled)
		cancel()
		Sleep(ctx, turn)
		return broker.Delivery{}, nil
	}
	if o := v.observer(d.Eval); o != nil {
		o.Dequeued(time.Now(), d.Eval, d.Waited)
	}
	return d, err
}

// Ack ends a delivery with success and wakes the cancelable reaper. Nomad wakes it even where it has nothing to do.
func (v *Evaluations) Ack(e *broker.Evaluation, token string) error {
	res, err := v.Broker.Ack(e.ID, token)
	if err != nil {
		return err
	}
	if e.Type != rpc.JobTypeCore {
		v.log.Because(fsm.EvalProcessed)
	}
	if o := v.observer(e); o != nil {
		o.Acked(time.Now(), e, res.Held, res.Shed)
	}
	if res.Cancelable > 0 {
		Wake(v.reap)
	}
	return nil
}

// Nack ends a delivery without success.
func (v *Evaluations) Nack(e *broker.Evaluation, token string) error {
	if err := v.Broker.Nack(e.ID, token); err != nil {
		return err
	}
	if o := v.observer(e); o != nil {
		o.Nacked(time.Now(), e)
	}
	return nil
}

// Flushed tells the observer that nothing is in flight any more.
func (v *Evaluations) Flushed() {
	if o := v.cfg.Observer; o != nil {
		o.Flushed(time.Now())
	}
}

// observer returns who is to be told of an evaluation; nil: nobody. Those of core jobs are
// not its business.
func (v *Evaluations) observer(e *broker.Evaluation) config.Observer {
	if e == nil || e.Type == rpc.JobTypeCore {
		return nil
	}
	return v.cfg.Observer
}

const (
	coreNamespace = "-"
	corePriority  = 200 // twice the highest of jobs
)

// EnqueueCore enqueues an evaluation of a core job, without the log: it is lost with the
// broker, and the next one makes up for it (nomad/leader.go, coreJobEval).
func (v *Evaluations) EnqueueCore(job string) {
	v.Broker.Enqueue(&broker.Evaluation{
		ID: v.log.NewID("core-eval", job), Namespace: coreNamespace, JobID: job, Type: rpc.JobTypeCore, Priority: corePriority,
		TriggeredBy: broker.TriggeredByScheduled, Status: broker.StatusPending, ModifyIndex: v.log.Snapshot().Index(),
	})
}

// Called takes evaluations that an entry of the log called for, or would have, and that are not
// part of it. They are as of an index, which a worker's state must include.
func (v *Evaluations) Called(evals []*broker.Evaluation, index uint64) {
	for _, e := range evals {
		e.CreateIndex, e.ModifyIndex = index, index
		v.Written(e)
	}
}

// resync calls for a look at every job that may differ from what runs of it, as a controller
// does when it starts: nobody else remembers what the leader before knew. That is every job that
// is not stopped, and every other that something runs of. What waits for a time is found in the
// allocations that it is for.
func (v *Evaluations) resync(snap *state.Snapshot) {
	index := snap.Index()
	call := func(job *rpc.Job) {
		e := JobEval(v.log, job, broker.TriggeredByJobRegister)
		v.Called([]*broker.Evaluation{e}, index)
	}
	known := map[broker.JobID]bool{}
	for job := range snap.Jobs() {
		id := broker.JobID{Namespace: job.Namespace, ID: job.ID}
		known[id] = true
		if job.Periodic != nil || job.Stop && snap.JobAllocs(id).Live == 0 {
			continue
		}
		call(job)
		v.Called(scheduler.FollowUps(snap, job, v.cfg.Habits.Scheduler), index)
	}
	for a := range snap.Allocs() {
		id := broker.JobID{Namespace: a.Namespace, ID: a.JobID}
		if !known[id] && !a.Terminal() {
			known[id] = true
			call(JobOf(snap, a))
		}
	}
}

// Open returns the jobs that are not done with: those that wait for a worker, a time or room,
// and those that a worker has.
func (v *Evaluations) Open() map[broker.JobID]bool {
	open := map[broker.JobID]bool{}
	for _, job := range slices.AppendSeq(v.Broker.Jobs(), maps.Keys(v.Blocked.Jobs())) {
		open[job] = true
	}
	return open
}
