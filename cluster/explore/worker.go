package explore

import (
	"fmt"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/internal/interleave"
)

// What a worker does, from asking for an evaluation to its ack.

func (w *world) ask(s step) error {
	d, err := w.b.Deliver(w.now, types[s.alt:s.alt+1])
	if err != nil || d.Eval == nil {
		return interleave.Violated("protocol", "an evaluation is ready, but a dequeue returned %v, %v", d.Eval, err)
	}
	w.deliver(s.arg, d)
	return nil
}

func (w *world) wait(s step) error {
	w.line.Join(s.arg, types)
	w.workers[s.arg].phase = inLine
	return nil
}

func (w *world) hear(s step) error {
	w.workers[s.arg].phase = holding
	return nil
}

// expire ends a worker's wait. It may have been given an evaluation at that instant.
func (w *world) expire(s step) error {
	if w.line.Leave(s.arg) {
		w.workers[s.arg] = worker{}
		return nil
	}
	if w.sys.seams.forgetsAnswer {
		w.workers[s.arg] = worker{}
		return nil
	}
	return w.hear(s)
}

// plan makes the worker's next attempt, on the oldest state that it may use or on the newest.
func (w *world) plan(s step) error {
	wk := &w.workers[s.arg]
	on := wk.min
	if s.alt == 1 {
		on = w.latest().Index()
	}
	wk.attempts = append(wk.attempts[:len(wk.attempts):len(wk.attempts)], attempt{snap: on})
	_, last, _ := w.scheduler(wk)
	for _, e := range last.Evals {
		return interleave.Violated("placement", "job %s finds no room and writes evaluation %s", e.JobID, e.TriggeredBy)
	}
	if wk.plan = last.Plan; wk.plan == nil {
		wk.phase = planning
		return nil
	}
	wk.plan.EvalToken = wk.token
	wk.phase = planned
	return nil
}

func (w *world) behind(s step) error {
	w.elapse()
	return w.give(s.arg)
}

// submit is Plan.Submit: it stops the nack timer and queues the plan.
func (w *world) submit(s step) error {
	wk := &w.workers[s.arg]
	if err := w.sys.seams.pause(w.b, w.now, wk.eval.ID, wk.token); err != nil {
		return w.give(s.arg)
	}
	wk.phase = submitted
	w.subs = append(w.subs, submission{worker: s.arg, plan: wk.plan})
	return nil
}

// give is a worker's nack, and the end of its work on the evaluation.
func (w *world) give(i int) error {
	wk := w.workers[i]
	w.workers[i] = worker{}
	_ = w.b.Nack(w.now, wk.eval.ID, wk.token) // refused if the evaluation is not its own any more
	w.serve()
	return nil
}

func (w *world) lose(s step) error {
	w.lost--
	for i := range w.subs {
		if w.subs[i].worker == s.arg {
			w.subs[i].worker = -1
		}
	}
	w.elapse()
	return w.give(s.arg)
}

// answered ends the call that submitted a plan, for the leader. The nack timer of the evaluation
// runs again.
func (w *world) answered(sub submission) {
	w.elapse()
	w.sys.seams.resume(w.b, w.now, sub.plan.EvalID, sub.plan.EvalToken)
	w.serve()
	if sub.worker < 0 {
		w.orphans = append(w.orphans, sub.plan.EvalToken)
	}
}

// answer ends the call that submitted a plan, and its worker goes on.
func (w *world) answer(s step) error {
	sub := w.subs[s.arg]
	w.subs = append(w.subs[:s.arg:s.arg], w.subs[s.arg+1:]...)
	w.answered(sub)
	if sub.worker < 0 {
		return nil
	}
	wk := &w.workers[sub.worker]
	wk.attempts = append([]attempt(nil), wk.attempts...)
	wk.attempts[len(wk.attempts)-1].result = sub.result
	wk.plan = nil
	if _, _, again := w.scheduler(wk); !again {
		wk.phase = planning
		return nil
	}
	wk.min = w.sys.seams.refresh(wk.attempts[len(wk.attempts)-1].snap, sub.result)
	wk.phase = holding
	return nil
}

// finish is Eval.Update: it proves the token and writes how the evaluation ended.
func (w *world) finish(s step) error {
	wk := &w.workers[s.arg]
	if w.b.OutstandingReset(w.now, wk.eval.ID, wk.token) != nil {
		return w.give(s.arg)
	}
	sched, _, _ := w.scheduler(wk)
	outcome := sched.Outcome(w.now)
	if len(outcome.Evals) != 1 || outcome.Evals[0].Status != broker.StatusComplete {
		return interleave.Violated("placement", "evaluation %s does not complete: %d evaluations, the last %s", wk.eval.ID, len(outcome.Evals), outcome.Evals[len(outcome.Evals)-1].Status)
	}
	on := wk.attempts[len(wk.attempts)-1].snap
	wk.phase = written
	w.write(fmt.Sprintf("complete %s on %d", wk.eval.ID, on), fsm.EvalUpdate.With(&fsm.EvalUpdateRequest{Evals: outcome.Evals}))
	j := &w.jobs[jobOf(wk.eval)]
	j.covered = max(j.covered, on)
	return nil
}

func (w *world) ack(s step) error {
	wk := w.workers[s.arg]
	w.workers[s.arg] = worker{}
	_, _ = w.b.Ack(w.now, wk.eval.ID, wk.token) // refused if the evaluation is not its own any more
	w.serve()
	return nil
}
