package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/scheduler"
	"github.com/simctl/simctl/cluster/simnet"
	"github.com/simctl/simctl/cluster/state"
)

// Timings of nomad/worker.go.
const (
	dequeueTimeout   = 500 * time.Millisecond
	raftSyncLimit    = 5 * time.Second
	catchUpLimit     = 10 * raftSyncLimit
	backoffFast      = 20 * time.Millisecond
	backoffSlow      = 500 * time.Millisecond
	backoffLimitSlow = 10 * time.Second
)

// schedulerTypes is what a worker takes evaluations for.
var schedulerTypes = []string{rpc.JobTypeService, rpc.JobTypeBatch, rpc.JobTypeSystem, rpc.JobTypeSysBatch, rpc.JobTypeCore}

// worker takes evaluations from the leader's broker, one at a time, and schedules them
// on its own server's state (nomad/worker.go).
type worker struct {
	srv  *Server
	id   int
	name string // tells the calls of a server's workers apart on the network
	rand *rand.Rand

	ctx      context.Context // ends dequeuing; work in hand is finished
	cancel   context.CancelFunc
	paused   bool            // must not dequeue; the server's mu guards it
	resumed  leader.Notifier // of changes of paused
	failures int
}

// SetSchedulers replaces the workers of this server by n new ones, as a reload of the
// configuration does, and returns when the old ones are gone. A server that has stopped gets none.
func (s *Server) SetSchedulers(n int) {
	s.stopWorkers()
	s.workerWG.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sched = n
	if s.dead() { // nobody would join them
		return
	}
	s.crews++
	for i := range n {
		w := &worker{srv: s, id: i, name: fmt.Sprintf("worker-%d", i)}
		seed := simnet.HashStrings(s.seed, w.name, strconv.Itoa(s.crews))
		w.rand = rand.New(rand.NewPCG(seed, simnet.Mix(seed)))
		w.ctx, w.cancel = context.WithCancel(s.ctx)
		s.workers = append(s.workers, w)
		s.workerWG.Go(w.run)
	}
	s.pauseLocked(s.Established())
}

// NumSchedulers returns the number of workers that the server is to have.
func (s *Server) NumSchedulers() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sched
}

// stopWorkers tells all workers to end; workerWG joins them.
func (s *Server) stopWorkers() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.workers {
		w.cancel()
	}
	s.workers = nil
}

// pauseWorkers pauses 3/4 of the workers, rounded down, to free cores for the leader's
// work, or lets them go on (nomad/leader.go, handlePausableWorkers).
func (s *Server) pauseWorkers(leading bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pauseLocked(leading)
}

func (s *Server) pauseLocked(leading bool) {
	pausable := 3 * len(s.workers) / 4
	if len(s.workers) <= 1 {
		pausable = 0
	}
	for i, w := range s.workers {
		w.paused = leading && i < pausable
		w.resumed.Notify()
	}
}

// run works until the worker's context ends.
func (w *worker) run() {
	// Workers that start at one instant must not share their timers' instants.
	leader.Sleep(w.ctx, w.turn())
	work := &w.srv.shared.Workers
	work.Change(1, 0)
	defer work.Change(-1, 0)
	for w.ready() {
		d, err := w.dequeue()
		if err != nil {
			w.backoff(backoffFast)
			continue
		}
		w.failures = 0
		if d.Eval == nil || w.srv.crashed() {
			continue
		}
		work.Change(0, 1)
		err = w.process(d)
		w.answer(d, err == nil)
		work.Change(0, -1)
		if errors.Is(err, errBehind) && w.srv.cfg.Habits.CatchUp {
			// Whether it has caught up or not, the worker goes on.
			_, _ = w.srv.store.SnapshotMinIndex(w.ctx, d.WaitIndex, catchUpLimit)
		}
	}
}

// errBehind means that the server's state did not reach the index of an evaluation in time.
var errBehind = errors.New("server is behind")

// turn returns a delay that differs from worker to worker, for what all of them would
// otherwise do at one instant.
func (w *worker) turn() time.Duration {
	return time.Duration(w.srv.opts.ID*64+w.id+1) * time.Microsecond
}

// ready waits while the worker is paused; false when it must end. A worker whose backoff the server's death has cut short may
// get here before its own context has heard of that.
func (w *worker) ready() bool {
	running := func() bool {
		w.srv.mu.Lock()
		defer w.srv.mu.Unlock()
		return !w.paused
	}
	if !running() {
		w.srv.shared.Workers.Change(-1, 0)
		w.resumed.Wait(w.ctx, running)
		// All workers resume at one instant, and look for a leader at the same intervals from
		// then on. Without the turn they would always do so at one instant.
		leader.Sleep(w.ctx, w.turn())
		w.srv.shared.Workers.Change(1, 0)
	}
	return w.ctx.Err() == nil && !w.srv.dead()
}

// dequeue asks the leader for an evaluation. It waits a turn longer than Nomad's worker. An
// evaluation that a worker gave back, or lost, becomes ready again after whole seconds. If the
// worker's next wait ended at that instant, it would be chance which of the two comes first.
func (w *worker) dequeue() (Dequeued, error) {
	return Forward(w.ctx, w.srv, "Eval.Dequeue/"+w.name, func(l *Server) (Dequeued, error) {
		return l.DequeueEval(w.ctx, schedulerTypes, dequeueTimeout+w.turn(), w.turn())
	})
}

// answer acks or nacks. An error is of no consequence: the nack timer of an evaluation
// that is still outstanding takes care of it.
func (w *worker) answer(d Dequeued, ack bool) {
	method := "Eval.Nack"
	if ack {
		method = "Eval.Ack"
	}
	err := w.call(method, func(l *Server) error { return l.EndEval(d, ack) })
	if ack && err != nil && d.Eval.Type != rpc.JobTypeCore {
		w.srv.Because(fsm.EvalUnacked)
	}
}

// call runs fn on the leader.
func (w *worker) call(method string, fn func(l *Server) error) error {
	_, err := Forward(w.srv.ctx, w.srv, method+"/"+w.name, func(l *Server) (struct{}, error) { return struct{}{}, fn(l) })
	return err
}

// process schedules one evaluation: an error means that it must be nacked.
func (w *worker) process(d Dequeued) error {
	snap, err := w.srv.store.SnapshotMinIndex(w.srv.ctx, d.WaitIndex, raftSyncLimit)
	if err != nil {
		return fmt.Errorf("%w: wait for raft index %d: %w", errBehind, d.WaitIndex, err)
	}
	if d.Eval.Type == rpc.JobTypeCore {
		return (&coreRun{worker: w, snap: snap, batchToo: w.srv.cfg.Habits.CollectsBatch}).run(d.Eval.JobID)
	}
	return (&planning{worker: w, Dequeued: d, snap: snap}).run()
}

// retry makes a call again, ever more slowly, while there is nobody to answer it
// (worker.go, shouldResubmit).
func (w *worker) retry(call func() error) error {
	for {
		err := call()
		if err == nil {
			w.failures = 0
			return nil
		}
		if !errors.Is(err, rpc.ErrNoLeader) && !errors.Is(err, leader.ErrPlanQueueDisabled) {
			return err
		}
		if w.srv.ctx.Err() != nil {
			return err
		}
		w.backoff(backoffSlow)
	}
}

func (w *worker) backoff(base time.Duration) {
	d := w.srv.cfg.Habits.Backoff(base, backoffLimitSlow, w.failures)
	if d < backoffLimitSlow {
		w.failures++
	}
	leader.Sleep(w.srv.ctx, d+time.Duration(w.srv.opts.ID*64+w.id)*time.Microsecond)
}

// planning is a worker's work on one evaluation: attempts to plan, each submitted to
// the leader, until the scheduler is content or gives up (nomad/worker.go,
// invokeScheduler).
type planning struct {
	worker *worker
	Dequeued
	snap *state.Snapshot
}

// run schedules the evaluation and writes its outcome: an error means that it must be
// nacked.
func (p *planning) run() error {
	srv := p.worker.srv
	if srv.shared.Poison.has(p.Eval.Job()) {
		p.allocate(srv.cfg.Costs.Scheduler[p.Eval.Type].Base)
		return errPanicked
	}
	sched, err := scheduler.New(p.Eval, srv.cache, p.worker.rand)
	if err != nil {
		return err
	}
	sched.Habits = srv.cfg.Habits.Scheduler
	for {
		attempt := sched.Plan(p.snap, srv.Wall())
		p.allocate(Scheduling(srv.cfg.Costs.Scheduler[p.Eval.Type], attempt.Work))
		if err := p.write(attempt.Evals); err != nil {
			return err
		}
		if attempt.Plan == nil {
			break
		}
		attempt.Plan.EvalToken = p.Token
		result, err := p.submit(attempt.Plan)
		if err != nil {
			return fmt.Errorf("submit plan: %w", err)
		}
		if !sched.Committed(result) {
			break
		}
	}
	outcome := sched.Outcome(srv.Wall())
	if e := outcome.Reblock; e != nil {
		err := p.call("Eval.Reblock", func(l *Server) error { return l.reblockEval(e, p.Token) })
		if err == nil { // else it is given back, and does not count as processed
			srv.Because(fsm.EvalReblocked)
		}
		return err
	}
	return p.write(outcome.Evals)
}

// allocate spends the scheduler's time, which leaves garbage at a rate of its own.
func (p *planning) allocate(d time.Duration) {
	srv := p.worker.srv
	srv.allocate(p.worker.name, d, srv.cfg.Costs.Scheduler[p.Eval.Type].Garbage)
}

// write stores evaluations through the leader, one call and one entry each, as long as
// the one that is worked on is still outstanding. It counts those made beside that first.
func (p *planning) write(evals []*broker.Evaluation) error {
	for _, e := range evals {
		if e.ID != p.Eval.ID {
			p.worker.srv.Because(fsm.EvalSpawned)
		}
	}
	for _, e := range evals {
		err := p.worker.retry(func() error {
			err := p.worker.call("Eval.Update", func(l *Server) error { return l.writeEvals(p.Eval.ID, p.Token, e) })
			if inDoubt(err) {
				p.worker.srv.Because(fsm.EvalUnacked)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("write evaluation %s: %w", e.ID, err)
		}
	}
	return nil
}

func (p *planning) call(method string, fn func(l *Server) error) error {
	return p.worker.retry(func() error { return p.worker.call(method, fn) })
}

// submit has the leader verify and commit a plan, and waits until this server has seen
// what the plan missed, if it was refused in part.
func (p *planning) submit(plan *scheduler.Plan) (*scheduler.PlanResult, error) {
	srv := p.worker.srv
	costs, allocs := srv.cfg.Costs.Plan, plan.Size()
	srv.Compute(p.worker.name, time.Duration(allocs)*costs.PerAlloc)
	planned, granted := allocBytes(srv.cfg.Habits)
	request := message{bytes: allocs * planned, takes: time.Duration(allocs) * costs.PerForward}
	answer := message{bytes: allocs * granted, takes: time.Duration(allocs) * costs.PerResult}
	var result *scheduler.PlanResult
	err := p.worker.retry(func() (err error) {
		result, err = forward(srv.ctx, srv, "Plan.Submit/"+p.worker.name, nil, request, answer, func(l *Server) (*scheduler.PlanResult, error) {
			return l.SubmitPlan(srv.ctx, plan)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	if result.RefreshIndex != 0 {
		p.snap, err = srv.store.SnapshotMinIndex(srv.ctx, result.RefreshIndex, raftSyncLimit)
	}
	return result, err
}

// allocBytes returns the bytes of an allocation in a plan that is submitted and in the answer to it. The answer
// also has the allocation's job and identity. The figures follow from the number of yamux windows that such
// messages of Nomad 1.4.3 and 2.0.5 needed. Most of the difference is the size of a signature.
func allocBytes(h config.Habits) (planned, granted int) {
	if h.SignsByRSA {
		return 1100, 4100
	}
	return 1030, 3080
}

// Scheduling is the CPU time of one attempt to plan.
func Scheduling(c config.SchedulerCosts, w scheduler.Work) time.Duration {
	reads := time.Duration(w.Nodes)*c.PerNode + time.Duration(w.ReadyNodes)*c.PerReadyNode +
		time.Duration(w.LiveAllocs)*c.PerLiveAlloc + time.Duration(w.TerminalAllocs)*c.PerTermAlloc
	return c.Base + config.Uncached(reads, w.Nodes, c.HalfCached) + time.Duration(w.Scored)*c.PerScored +
		time.Duration(w.Proposed)*c.PerProposed + time.Duration(w.Placements)*c.PerPlacement + time.Duration(w.Stops)*c.PerStop
}
