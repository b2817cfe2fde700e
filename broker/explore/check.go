package explore

import (
	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/internal/interleave"
)

// view is a broker's state by evaluation. All worlds of a search share one.
type view struct {
	state  broker.State
	ready  [4]bool // by job: can be dequeued
	failed bool    // one is in the failed queue
	places []held  // in step with world.evals
}

// held is where the broker has an evaluation.
type held struct {
	where      place
	copies     uint8
	pos        uint8 // within waiting and cancelable
	deliveries uint8
}

type place uint8

const (
	nowhere place = iota
	inReady
	inFailed
	inUnacked
	inDelayed
	inRedelivery
	inPending
	inCancelable
)

// observe reads the broker's state into the view and checks all properties.
func (w *world) observe() error {
	v := w.view
	w.b.ReadState(&v.state)
	v.ready, v.failed = [4]bool{}, false
	v.places = append(v.places[:0], make([]held, len(w.evals))...)
	for _, h := range v.state.Ready {
		if h.Queue == broker.FailedQueue {
			v.failed = true
			v.put(h, inFailed, 0)
		} else {
			v.ready[w.evals[h.Eval.CreateIndex-1].job] = true
			v.put(h, inReady, 0)
		}
	}
	for _, h := range v.state.Unacked {
		v.put(h, inUnacked, 0)
	}
	for i, h := range v.state.Waiting {
		if h.Redelivery {
			v.put(h, inRedelivery, i)
		} else {
			v.put(h, inDelayed, i)
		}
	}
	for _, h := range v.state.Pending {
		v.put(h, inPending, 0)
	}
	for i, e := range v.state.Cancelable {
		v.put(broker.Held{Eval: e}, inCancelable, i)
	}
	return w.check()
}

func (v *view) put(h broker.Held, where place, pos int) {
	p := &v.places[h.Eval.CreateIndex-1]
	p.copies++
	p.where, p.pos, p.deliveries = where, uint8(pos), uint8(h.Deliveries)
}

func (w *world) check() error {
	if err := w.view.state.Check(); err != nil {
		return interleave.Violated("serialisation", "%v", err)
	}
	for i := range w.evals {
		e, p := &w.evals[i], w.view.places[i]
		switch {
		case p.copies > 1:
			return interleave.Violated("conservation", "the broker holds %s %d times", e.eval.ID, p.copies)
		case e.held && p.copies == 0:
			return interleave.Violated("conservation", "the broker lost %s", e.eval.ID)
		case !e.held && p.copies > 0:
			return interleave.Violated("conservation", "the broker holds %s again, which it was rid of", e.eval.ID)
		}
	}
	if err := w.checkStale(); err != nil {
		return err
	}
	if w.gaining {
		return nil // the restore is to come
	}
	for j := range w.jobs {
		if w.jobs[j].covered < w.jobs[j].newest && !w.willRun(j) {
			return interleave.Violated("no lost wake-up", "job %c was triggered at %s, no finished scheduling run has seen that, and none is to come",
				'a'+j, w.evals[w.jobs[j].newest-1].eval.ID)
		}
	}
	return nil
}

// willRun reports whether the broker holds an evaluation of the job that a worker will get
// if no election comes.
func (w *world) willRun(job int) bool {
	for i, p := range w.view.places {
		if int(w.evals[i].job) == job && p.where != nowhere && p.where != inCancelable {
			return true
		}
	}
	return false
}

// checkQuiet is for states in which nobody has anything to do.
func (w *world) checkQuiet() error {
	for i := range w.evals {
		e := &w.evals[i]
		if w.view.places[i].copies > 0 {
			return interleave.Violated("no lost wake-up", "the system is quiet, but %s is still in the broker", e.eval.ID)
		}
		if e.status == pending && !e.lost {
			return interleave.Violated("conservation", "the system is quiet and %s is pending in state, though no write failed", e.eval.ID)
		}
	}
	return nil
}
