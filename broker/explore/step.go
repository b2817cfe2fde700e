package explore

import (
	"fmt"

	"github.com/simctl/simctl/broker"
)

// step is one move of one actor: its kind, and which job, worker or alternative.
type step struct {
	kind stepKind
	arg  uint8
	alt  uint16
}

type stepKind uint8

const (
	stepTrigger    stepKind = iota // of job arg, with priority alt
	stepDequeue                    // by worker arg, of job alt
	stepComplete                   // worker arg marks its evaluation complete, through Raft
	stepAck                        // by worker arg
	stepTimeout                    // worker arg's nack timer fires
	stepRedeliver                  // the first waiting evaluation stops waiting
	stepReapFailed                 // the failed-eval reaper handles one
	stepReap                       // the reaper takes a batch and writes it
	stepReapFails                  // ... or fails to
	stepFailover                   // another leader enables its broker
	stepRestore                    // ... and restores; alt chooses whom of each job comes first
)

// isFault reports whether nobody waits for the step: a history may end without it.
func (s step) isFault() bool {
	switch s.kind {
	case stepTrigger, stepTimeout, stepReapFails, stepFailover:
		return true
	}
	return false
}

// steps appends the moves that an observed state allows.
func (w *world) steps(to []step) []step {
	for j := range w.jobs {
		if w.jobs[j].triggers < w.bounds.Evals {
			for p := range w.bounds.Priorities {
				to = append(to, step{stepTrigger, uint8(j), uint16(p)})
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
	if w.mode == gaining {
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

// apply makes a move; the error is a *violation.
func (w *world) apply(s step) error {
	w.rec.begin(w, s)
	switch s.kind {
	case stepTrigger:
		w.jobs[s.arg].triggers++
		w.create(int(s.arg), 50+30*int(s.alt), 0)
	case stepDequeue:
		return w.dequeue(&w.workers[s.arg], int(s.alt))
	case stepComplete:
		return w.complete(&w.workers[s.arg])
	case stepAck:
		return w.ack(&w.workers[s.arg])
	case stepTimeout:
		return w.timeout(int(s.arg))
	case stepRedeliver:
		return w.pass(-1)
	case stepReapFailed:
		return w.reapFailed()
	case stepReap:
		w.reap(true)
	case stepReapFails:
		w.writeFailures--
		w.reap(false)
	case stepFailover:
		return w.failover()
	case stepRestore:
		w.restore(int(s.alt))
	}
	return nil
}

func (w *world) dequeue(wk *worker, job int) error {
	w.rec.line("dequeue types=%s", types[job])
	d, err := w.b.Deliver(w.now, types[job:job+1])
	if err != nil || d.Eval == nil {
		return violated("protocol", "an evaluation is ready, but a dequeue returned %v, %v", d.Eval, err)
	}
	i := int(d.Eval.CreateIndex - 1)
	snapshot := d.Eval.ModifyIndex
	if w.bounds.Snapshot == SnapshotJob {
		snapshot = w.jobs[w.evals[i].job].newest
	}
	// The oldest snapshot that the rule allows: a newer one covers more triggers, and
	// makes no other difference.
	w.rec.line("# Its snapshot is as old as %s.", w.evals[snapshot-1].eval.ID)
	*wk = worker{busy: true, eval: i, token: d.Token, alias: w.rec.delivered(), snapshot: snapshot}
	return w.tryStale(d.Eval.ID)
}

// complete is Eval.Update: it proves the token and marks the evaluation complete.
func (w *world) complete(wk *worker) error {
	e := &w.evals[wk.eval]
	w.rec.line("reset id=%s token=%s", e.eval.ID, wk.alias)
	if err := w.b.OutstandingReset(w.now, e.eval.ID, wk.token); err != nil {
		return violated("protocol", "completing %s under a valid token: %v", e.eval.ID, err)
	}
	e.status = complete
	j := &w.jobs[e.job]
	j.covered = max(j.covered, wk.snapshot)
	wk.done = true
	return nil
}

func (w *world) ack(wk *worker) error {
	e := &w.evals[wk.eval]
	w.rec.line("ack id=%s token=%s", e.eval.ID, wk.alias)
	if _, err := w.b.Ack(w.now, e.eval.ID, wk.token); err != nil {
		return violated("protocol", "ack of %s under a valid token: %v", e.eval.ID, err)
	}
	e.held = false
	*wk = worker{}
	return nil
}

// timeout lets a worker's nack timer fire. A nack would have the same effect, so that there
// is no step for it.
func (w *world) timeout(i int) error {
	w.timeouts--
	w.elapse()
	if err := w.pass(i); err != nil {
		return err
	}
	return w.lose(&w.workers[i])
}

// reapFailed writes `failed` and a delayed follow-up in one entry, then acks.
func (w *world) reapFailed() error {
	w.rec.line("dequeue types=%s", broker.FailedQueue)
	d, err := w.b.Deliver(w.now, []string{broker.FailedQueue})
	if err != nil || d.Eval == nil {
		return violated("protocol", "an evaluation has failed, but a dequeue returned %v, %v", d.Eval, err)
	}
	alias := w.rec.delivered()
	e := &w.evals[d.Eval.CreateIndex-1]
	e.status, e.held = failed, false
	w.elapse()
	w.create(int(e.job), d.Eval.Priority, redeliveryDelay)
	w.rec.line("ack id=%s token=%s", d.Eval.ID, alias)
	if _, err := w.b.Ack(w.now, d.Eval.ID, d.Token); err != nil {
		return violated("protocol", "ack of the failed %s: %v", d.Eval.ID, err)
	}
	return nil
}

// reap takes a batch and writes it at once. What others do in between changes neither the
// batch nor what is written, and an election in between has the effect of one before.
func (w *world) reap(written bool) {
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
}

// failover flushes the broker and enables it, as the next leader does before it restores:
// evaluations that are created in between reach the broker first. There is no time without
// a leader, for a trigger then has the effect of one just before the flush.
func (w *world) failover() error {
	w.failovers--
	w.mode = gaining
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
		orders *= max(1, w.pendingOf(j))
	}
	return orders
}

func (w *world) pendingOf(job int) int {
	n := 0
	for i := range w.evals {
		if int(w.evals[i].job) == job && w.evals[i].status == pending {
			n++
		}
	}
	return n
}

func (w *world) restore(order int) {
	w.mode = leading
	for j := range w.jobs {
		n := max(1, w.pendingOf(j))
		first := order % n
		order /= n
		nth := 0
		for i := range w.evals {
			if int(w.evals[i].job) == j && w.evals[i].status == pending {
				if nth == first {
					w.enqueue(i)
				}
				nth++
			}
		}
		for i := range w.evals {
			if int(w.evals[i].job) == j && w.evals[i].status == pending {
				w.enqueue(i) // a duplicate for the first one
			}
		}
	}
}

// describe says what a step that is to be applied does.
func (w *world) describe(s step) string {
	who := fmt.Sprintf("worker %d", s.arg+1)
	of := ""
	if int(s.arg) < len(w.workers) && w.workers[s.arg].busy {
		of = w.evals[w.workers[s.arg].eval].eval.ID
	}
	switch s.kind {
	case stepTrigger:
		return fmt.Sprintf("job %c is triggered", 'a'+s.arg)
	case stepDequeue:
		return fmt.Sprintf("%s dequeues an evaluation of job %c", who, 'a'+s.alt)
	case stepComplete:
		return fmt.Sprintf("%s marks %s complete", who, of)
	case stepAck:
		return fmt.Sprintf("%s acks %s", who, of)
	case stepTimeout:
		return fmt.Sprintf("%s is too slow with %s: the nack timer fires", who, of)
	case stepRedeliver:
		return "the first waiting evaluation stops waiting"
	case stepReapFailed:
		return "the failed-eval reaper handles an evaluation"
	case stepReap:
		return "the reaper takes a batch and cancels it"
	case stepReapFails:
		return "the reaper takes a batch, and Raft fails to write it"
	case stepFailover:
		return "another server gains leadership and enables its broker"
	case stepRestore:
		return "it restores what is pending in state"
	}
	return "?"
}
