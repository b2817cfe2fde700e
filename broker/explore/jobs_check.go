package explore

import (
	"slices"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/internal/interleave"
)

func (w *jobWorld) take(j int) error {
	d, err := w.q.Deliver(w.now, types[j:j+1])
	if err != nil || d.Eval == nil {
		return interleave.Violated("protocol", "job %c is ready, but a dequeue returned %v, %v", 'a'+j, d.Eval, err)
	}
	// Until a new leader has called for all jobs, a delivery may be outdated: the leader will call for the job again.
	if snapshot := d.Eval.ModifyIndex; !w.gaining && snapshot < w.jobs[j].newest && w.jobs[j].covered < w.jobs[j].newest {
		return interleave.Violated("fresh", "job %c is delivered as of index %d, but was called for at %d", 'a'+j, snapshot, w.jobs[j].newest)
	}
	i := slices.IndexFunc(w.workers, func(wk jobWorker) bool { return !wk.busy })
	w.workers[i] = jobWorker{true, j, d.Eval.ID, d.Token, d.Eval.ModifyIndex}
	w.jobs[j].dirty = false
	return w.tryStale(d.Eval.ID)
}

func (w *jobWorld) ack(i int) error {
	wk := &w.workers[i]
	if _, err := w.q.Ack(w.now, wk.id, wk.token); err != nil {
		return interleave.Violated("protocol", "ack of %s: %v", wk.id, err)
	}
	j := &w.jobs[wk.job]
	j.covered = max(j.covered, wk.snapshot)
	if wk.id == followID(wk.job) {
		j.follow = followDone
	}
	if !j.dirty {
		j.asked = 0
	}
	*wk = jobWorker{}
	return nil
}

func (w *jobWorld) nack(i int) error {
	w.nacks--
	if err := w.q.Nack(w.now, w.workers[i].id, w.workers[i].token); err != nil {
		return interleave.Violated("protocol", "nack of %s: %v", w.workers[i].id, err)
	}
	return w.lose(i)
}

// lose takes a worker's job away. It can only make late calls, which are tried now and whenever
// the job is delivered again.
func (w *jobWorld) lose(i int) error {
	id := w.workers[i].id
	w.stale = append(w.stale, staleToken{id, w.workers[i].token})
	w.workers[i] = jobWorker{}
	return w.tryStale(id)
}

func (w *jobWorld) tryStale(id string) error {
	for _, s := range w.stale {
		if s.id != id {
			continue
		}
		if _, err := w.q.Ack(w.now, id, s.token); err == nil {
			return interleave.Violated("protocol", "a late ack of %s was accepted", id)
		}
		if err := w.q.OutstandingReset(w.now, id, s.token); err == nil {
			return interleave.Violated("protocol", "a late plan of %s was accepted", id)
		}
	}
	return nil
}

func (w *jobWorld) failover() error {
	w.failovers--
	w.gaining = true
	w.q.SetEnabled(w.now, false)
	w.q.SetEnabled(w.now, true)
	for j := range w.jobs {
		w.jobs[j].asked, w.jobs[j].dirty = 0, false
	}
	for i := range w.workers {
		if w.workers[i].busy {
			if err := w.lose(i); err != nil {
				return err
			}
		}
	}
	return nil
}

// Observe checks what must hold in every state.
func (s *jobSystem) Observe(w *jobWorld) error {
	w.q.ReadState(&w.state)
	if err := w.state.Check(); err != nil {
		return interleave.Violated("serialisation", "%v", err)
	}
	for i, wk := range w.workers {
		if wk.busy && slices.ContainsFunc(w.workers[i+1:], func(o jobWorker) bool { return o.busy && o.job == wk.job }) {
			return interleave.Violated("serialisation", "two workers have job %c", 'a'+wk.job)
		}
	}
	for j := range w.jobs {
		held := w.held(j)
		if len(held) > 2 || len(held) == 2 && held[0].Eval.ID == held[1].Eval.ID {
			return interleave.Violated("once", "job %c is queued %d times", 'a'+j, len(held))
		}
		if err := w.owed(j, held); err != nil && !w.gaining {
			return err
		}
	}
	return nil
}

// held returns what the queue has of a job.
func (w *jobWorld) held(j int) (of []broker.Held) {
	for _, h := range slices.Concat(w.state.Ready, w.state.Unacked, w.state.Waiting, w.state.Pending) {
		if jobNumber(h.Eval) == j {
			of = append(of, h)
		}
	}
	return of
}

// owed returns an error if nothing will look at a job that has to be looked at.
func (w *jobWorld) owed(j int, held []broker.Held) error {
	job := &w.jobs[j]
	has := func(is func(broker.Held) bool) bool { return slices.ContainsFunc(held, is) }
	if job.follow == followOwed && !has(func(h broker.Held) bool { return h.Eval.ID == followID(j) }) {
		return interleave.Violated("no lost wake-up", "job %c is to be called for later, and will not be", 'a'+j)
	}
	if job.covered >= job.newest || has(func(h broker.Held) bool { return h.Eval.ID != followID(j) && (h.Token == "" || h.Requeue != nil) }) {
		return nil
	}
	for _, wk := range w.workers {
		if wk.busy && wk.job == j && wk.snapshot >= job.newest {
			return nil
		}
	}
	return interleave.Violated("no lost wake-up", "job %c was called for at index %d, no run has seen that, and none is to come", 'a'+j, job.newest)
}

// Quiet checks a state in which nobody has anything to do.
func (s *jobSystem) Quiet(w *jobWorld) error {
	for j := range w.jobs {
		if held := w.held(j); len(held) > 0 {
			return interleave.Violated("no lost wake-up", "the system is quiet, but job %c is still queued", 'a'+j)
		}
	}
	return nil
}

// Key appends what tells an observed state from others. Of time only the order of waits counts,
// and of an index only whether it is as new as the last call for its job.
func (s *jobSystem) Key(w *jobWorld, to []byte) []byte {
	to = append(to, flag(w.gaining), byte(w.nacks), byte(w.failovers))
	for j := range w.jobs {
		job := &w.jobs[j]
		to = append(to, byte(job.triggers), flag(job.covered >= job.newest)|flag(job.asked >= job.newest)<<1|flag(job.dirty)<<2, byte(job.follow))
		for _, h := range w.held(j) {
			to = append(to, flag(h.Eval.ID == followID(j)), byte(h.Deliveries), flag(h.Token != "")|flag(h.Requeue != nil)<<1|flag(h.Queue != "")<<2)
		}
		for _, wk := range w.workers {
			if wk.busy && wk.job == j {
				to = append(to, flag(wk.snapshot >= job.newest))
			}
		}
		to = append(to, 0xff)
	}
	for _, h := range w.state.Waiting {
		to = append(to, byte(jobNumber(h.Eval)), flag(h.Redelivery))
	}
	return to
}
