package server

import (
	"fmt"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/scheduler"
	"github.com/simctl/simctl/cluster/state"
)

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
	srv.allocateAt(p.worker.name, d, srv.cfg.Costs.Scheduler[p.Eval.Type].Garbage)
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
	costs, allocs := srv.cfg.Costs.Plan, time.Duration(plan.Size())
	coding, decoding := allocs*costs.PerAlloc, time.Duration(0)
	if !srv.Established() {
		coding += allocs * costs.PerForward
		decoding = allocs * costs.PerResult
	}
	srv.Compute(p.worker.name, coding)
	var result *scheduler.PlanResult
	err := p.call("Plan.Submit", func(l *Server) (err error) {
		if l == srv {
			result, err = l.SubmitPlan(srv.ctx, plan)
			return err
		}
		l.Compute("forwarded/"+p.Eval.ID, allocs*costs.PerForward)
		result, err = l.SubmitPlan(srv.ctx, plan)
		l.Compute("result/"+p.Eval.ID, allocs*costs.PerResult)
		return err
	})
	srv.Compute(p.worker.name, decoding)
	if err != nil {
		return nil, err
	}
	if result.RefreshIndex != 0 {
		p.snap, err = srv.store.SnapshotMinIndex(srv.ctx, result.RefreshIndex, raftSyncLimit)
	}
	return result, err
}

// Scheduling is the CPU time of one attempt to plan.
func Scheduling(c config.SchedulerCosts, w scheduler.Work) time.Duration {
	reads := time.Duration(w.Nodes)*c.PerNode + time.Duration(w.ReadyNodes)*c.PerReadyNode +
		time.Duration(w.LiveAllocs)*c.PerLiveAlloc + time.Duration(w.TerminalAllocs)*c.PerTermAlloc
	return c.Base + config.Uncached(reads, w.Nodes, c.HalfCached) + time.Duration(w.Scored)*c.PerScored +
		time.Duration(w.Proposed)*c.PerProposed + time.Duration(w.Placements)*c.PerPlacement + time.Duration(w.Stops)*c.PerStop
}
