package explore

import (
	"fmt"
	"strings"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/internal/interleave"
)

// step is one move of one actor: its kind, and which worker, priority, job or order.
type step struct {
	kind *stepKind
	arg  uint8  // worker, or priority of a trigger
	alt  uint16 // job, or order of a restore
}

// stepKind is what an actor can do.
type stepKind struct {
	// fault reports whether nobody waits for the step: a history may end without it.
	fault bool
	// text says what the step does. WORKER, EVAL and JOB stand for the worker, the
	// evaluation that it holds, and the job.
	text  string
	apply func(w *world, s step) error
}

var (
	stepTrigger    = &stepKind{true, "job JOB is triggered", (*world).trigger}
	stepDequeue    = &stepKind{false, "WORKER dequeues an evaluation of job JOB", (*world).dequeue}
	stepComplete   = &stepKind{false, "WORKER marks EVAL complete", (*world).complete}
	stepAck        = &stepKind{false, "WORKER acks EVAL", (*world).ack}
	stepTimeout    = &stepKind{true, "WORKER is too slow with EVAL: the nack timer fires", (*world).timeout}
	stepRedeliver  = &stepKind{false, "the first waiting evaluation stops waiting", func(w *world, _ step) error { return w.pass(-1) }}
	stepReapFailed = &stepKind{false, "the failed-eval reaper handles an evaluation", (*world).reapFailed}
	stepReap       = &stepKind{false, "the reaper takes a batch and cancels it", func(w *world, _ step) error { return w.reap(true) }}
	stepReapFails  = &stepKind{true, "the reaper takes a batch, and Raft fails to write it", func(w *world, _ step) error { return w.reap(false) }}
	stepFailover   = &stepKind{true, "another server gains leadership and enables its broker", (*world).failover}
	stepRestore    = &stepKind{false, "it restores what is pending in state", (*world).restore}
)

// steps returns the moves that an observed state allows.
func (w *world) steps() (to []step) {
	for j := range w.jobs {
		if w.jobs[j].triggers < w.bounds.Evals {
			for p := range w.bounds.Priorities {
				to = append(to, step{stepTrigger, uint8(p), uint16(j)})
			}
		}
	}
	idleSeen := false
	for i := range w.workers {
		wk := &w.workers[i]
		arg := uint8(i)
		switch {
		case !wk.busy:
			// Idle workers are alike: one stands for all.
			for j := range w.jobs {
				if !idleSeen && w.view.ready[j] {
					to = append(to, step{stepDequeue, arg, uint16(j)})
				}
			}
			idleSeen = true
			continue
		case wk.done:
			to = append(to, step{kind: stepAck, arg: arg})
		default:
			to = append(to, step{kind: stepComplete, arg: arg})
		}
		if w.timeouts > 0 {
			to = append(to, step{kind: stepTimeout, arg: arg})
		}
	}
	return w.serverSteps(to)
}

func (w *world) serverSteps(to []step) []step {
	if len(w.view.state.Waiting) > 0 {
		to = append(to, step{kind: stepRedeliver})
	}
	if w.gaining {
		// Nomad starts its reapers after the restore (nomad/leader.go).
		for alt := range w.restoreOrders() {
			to = append(to, step{kind: stepRestore, alt: uint16(alt)})
		}
		return to
	}
	if w.view.failed {
		to = append(to, step{kind: stepReapFailed})
	}
	if len(w.view.state.Cancelable) > 0 {
		to = append(to, step{kind: stepReap})
		if w.writeFailures > 0 {
			to = append(to, step{kind: stepReapFails})
		}
	}
	if w.failovers > 0 {
		to = append(to, step{kind: stepFailover})
	}
	return to
}

// apply makes a move; the error is an *interleave.Violation.
func (w *world) apply(s step) error {
	w.rec.begin(w, s)
	return s.kind.apply(w, s)
}

func (w *world) trigger(s step) error {
	w.jobs[s.alt].triggers++
	w.create(int(s.alt), 50+30*int(s.arg), 0)
	return nil
}

func (w *world) dequeue(s step) error {
	w.rec.line("dequeue types=%s", types[s.alt])
	d, err := w.b.Deliver(w.now, types[s.alt:s.alt+1])
	if err != nil || d.Eval == nil {
		return interleave.Violated("protocol", "an evaluation is ready, but a dequeue returned %v, %v", d.Eval, err)
	}
	i := int(d.Eval.CreateIndex - 1)
	snapshot := d.Eval.ModifyIndex
	if w.bounds.Snapshot == SnapshotJob {
		snapshot = w.jobs[w.evals[i].job].newest
	}
	// The oldest snapshot that the rule allows: a newer one covers more triggers, and
	// makes no other difference.
	w.rec.line("# Its snapshot is as old as %s.", w.evals[snapshot-1].eval.ID)
	w.workers[s.arg] = worker{busy: true, eval: i, token: d.Token, alias: w.rec.delivered(), snapshot: snapshot}
	return w.tryStale(d.Eval.ID)
}

// complete is Eval.Update: it proves the token and marks the evaluation complete.
func (w *world) complete(s step) error {
	wk := &w.workers[s.arg]
	e := &w.evals[wk.eval]
	w.rec.line("reset id=%s token=%s", e.eval.ID, wk.alias)
	if err := w.b.OutstandingReset(w.now, e.eval.ID, wk.token); err != nil {
		return interleave.Violated("protocol", "completing %s under a valid token: %v", e.eval.ID, err)
	}
	e.status = complete
	j := &w.jobs[e.job]
	j.covered = max(j.covered, wk.snapshot)
	wk.done = true
	return nil
}

func (w *world) ack(s step) error {
	wk := &w.workers[s.arg]
	e := &w.evals[wk.eval]
	w.rec.line("ack id=%s token=%s", e.eval.ID, wk.alias)
	if _, err := w.b.Ack(w.now, e.eval.ID, wk.token); err != nil {
		return interleave.Violated("protocol", "ack of %s under a valid token: %v", e.eval.ID, err)
	}
	e.held = false
	*wk = worker{}
	return nil
}

// timeout lets a worker's nack timer fire. A nack would have the same effect, so that there
// is no step for it.
func (w *world) timeout(s step) error {
	w.timeouts--
	w.elapse()
	if err := w.pass(int(s.arg)); err != nil {
		return err
	}
	return w.lose(&w.workers[s.arg])
}

// reapFailed writes `failed` and a delayed follow-up in one entry, then acks.
func (w *world) reapFailed(step) error {
	w.rec.line("dequeue types=%s", broker.FailedQueue)
	d, err := w.b.Deliver(w.now, []string{broker.FailedQueue})
	if err != nil || d.Eval == nil {
		return interleave.Violated("protocol", "an evaluation has failed, but a dequeue returned %v, %v", d.Eval, err)
	}
	alias := w.rec.delivered()
	e := &w.evals[d.Eval.CreateIndex-1]
	e.status, e.held = failed, false
	w.elapse()
	w.create(int(e.job), d.Eval.Priority, redeliveryDelay)
	w.rec.line("ack id=%s token=%s", d.Eval.ID, alias)
	if _, err := w.b.Ack(w.now, d.Eval.ID, d.Token); err != nil {
		return interleave.Violated("protocol", "ack of the failed %s: %v", d.Eval.ID, err)
	}
	return nil
}

// reap takes a batch and writes it at once. What others do in between changes neither the
// batch nor what is written, and an election in between has the effect of one before.
func (w *world) reap(written bool) error {
	if !written {
		w.writeFailures--
	}
	w.rec.line("cancelable batch=%d", w.bounds.Batch)
	for _, e := range w.b.Cancelable(w.bounds.Batch) {
		ev := &w.evals[e.CreateIndex-1]
		ev.held = false
		if written {
			ev.status = canceled
		} else {
			ev.lost = true
		}
	}
	return nil
}

// failover flushes the broker and enables it, as the next leader does before it restores:
// evaluations that are created in between reach the broker first. There is no time without
// a leader, for a trigger then has the effect of one just before the flush.
func (w *world) failover(step) error {
	w.failovers--
	w.gaining = true
	w.rec.line("disable")
	w.b.SetEnabled(w.now, false)
	w.rec.line("enable")
	w.b.SetEnabled(w.now, true)
	for i := range w.evals {
		w.evals[i].held = false
	}
	for i := range w.workers {
		if wk := &w.workers[i]; wk.busy {
			if err := w.lose(wk); err != nil {
				return err
			}
		}
	}
	return nil
}

// restoreOrders returns the number of ways in which the restore can choose each job's first
// pending evaluation, for state is read in the order of random IDs. The order of the others
// does not matter: they become pending behind it.
func (w *world) restoreOrders() int {
	orders := 1
	for j := range w.jobs {
		orders *= max(1, len(w.pendingOf(j)))
	}
	return orders
}

// pendingOf returns the indexes of the job's pending evaluations.
func (w *world) pendingOf(job int) (evals []int) {
	for i := range w.evals {
		if int(w.evals[i].job) == job && w.evals[i].status == pending {
			evals = append(evals, i)
		}
	}
	return evals
}

func (w *world) restore(s step) error {
	w.gaining = false
	order := int(s.alt)
	for j := range w.jobs {
		evals := w.pendingOf(j)
		if len(evals) == 0 {
			continue
		}
		w.enqueue(evals[order%len(evals)])
		order /= len(evals)
		for _, i := range evals {
			w.enqueue(i) // a duplicate for the first one
		}
	}
	return nil
}

// describe says what a step that is to be applied does.
func (w *world) describe(s step) string {
	held := ""
	if int(s.arg) < len(w.workers) && w.workers[s.arg].busy {
		held = w.evals[w.workers[s.arg].eval].eval.ID
	}
	return strings.NewReplacer("WORKER", fmt.Sprintf("worker %d", s.arg+1), "EVAL", held, "JOB", string(rune('a'+s.alt))).Replace(s.kind.text)
}
