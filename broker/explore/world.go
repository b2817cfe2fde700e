package explore

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/internal/interleave"
)

// Times of the modelled system. The delay is far longer than the timeout, so that the
// search can fire the one without the other.
const (
	nackTimeout     = time.Minute
	redeliveryDelay = time.Hour
)

// types has a scheduler type for each job, so that the search and not the order of one
// ready queue decides which job's evaluation a worker gets.
var types = [4]string{"service", "batch", "system", "sysbatch"}

// status is what the servers' state says of an evaluation.
type status uint8

const (
	pending status = iota
	complete
	failed
	canceled
)

// evalState is an evaluation as the servers' state holds it, whoever leads.
type evalState struct {
	eval   *broker.Evaluation // its CreateIndex less one is its index in world.evals
	job    uint8
	status status
	held   bool // the broker must hold it
	lost   bool // a failed Raft write dropped it; only an election brings it back
}

// jobState keeps the indexes, in the order of creation, that say whether the job is owed
// a scheduling run.
type jobState struct {
	triggers int    // from outside, so far
	created  int    // evaluations, follow-ups included
	newest   uint64 // index of the latest trigger
	covered  uint64 // newest trigger that a finished scheduling run has seen
}

// worker holds at most one evaluation.
type worker struct {
	busy     bool
	done     bool // the evaluation is marked complete in state; the ack is to come
	eval     int
	token    string
	alias    string // the token's name in a recorded script
	snapshot uint64
}

// staleToken is one whose holder lost its evaluation.
type staleToken struct{ id, token string }

// world is one state of the modelled system, and the broker in it.
type world struct {
	bounds  *Bounds
	b       *broker.EvalBroker
	now     time.Time
	gaining bool // the broker is enabled, and the restore from state is still to come
	jobs    []jobState
	workers []worker
	evals   []evalState
	stale   []staleToken

	timeouts, failovers, writeFailures int // left

	rand *rand.Rand // makes the tokens
	view *view      // the broker's state; filled by observe
	rec  *recorder  // nil but when a history is replayed
}

func newWorld(p broker.Policy, bounds *Bounds, r *rand.Rand) *world {
	w := &world{
		bounds: bounds, now: time.Unix(0, 0).UTC(),
		jobs: make([]jobState, bounds.Jobs), workers: make([]worker, bounds.Workers),
		timeouts: bounds.Timeouts, failovers: bounds.Failovers, writeFailures: bounds.WriteFailures,
		view: new(view), rand: r,
		// All wait equally long, so that they stop waiting in the order in which they began to.
		b: broker.New(broker.Config{
			Policy: p, Rand: r, DeliveryLimit: bounds.DeliveryLimit,
			NackTimeout: nackTimeout, InitialNackDelay: redeliveryDelay, SubsequentNackDelay: redeliveryDelay,
		}),
	}
	w.b.SetEnabled(w.now, true)
	return w
}

// cloneInto makes c a copy of w in the memory of c. All copies share the view and the
// source of tokens.
func (w *world) cloneInto(c *world) {
	old := *c
	*c = *w
	c.b = old.b
	w.b.CloneInto(c.b, w.rand)
	c.jobs = append(old.jobs[:0], w.jobs...)
	c.workers = append(old.workers[:0], w.workers...)
	c.evals = append(old.evals[:0], w.evals...)
	c.stale = append(old.stale[:0], w.stale...)
}

// create writes a new pending evaluation to state and hands it to the broker.
func (w *world) create(job int, priority int, wait time.Duration) {
	j := &w.jobs[job]
	j.created++
	index := uint64(len(w.evals) + 1)
	e := &broker.Evaluation{
		ID:        fmt.Sprintf("%c%d", 'a'+job, j.created),
		Namespace: "default", JobID: string(rune('a' + job)), Type: types[job],
		Priority: priority, Status: broker.StatusPending, Wait: wait,
		CreateIndex: index, ModifyIndex: index,
	}
	j.newest = index
	w.evals = append(w.evals, evalState{eval: e, job: uint8(job)})
	w.enqueue(len(w.evals) - 1)
}

// enqueue enqueues an evaluation, as the FSM and the restore do.
func (w *world) enqueue(i int) {
	e := &w.evals[i]
	w.rec.enqueue(e.eval)
	w.b.Enqueue(w.now, e.eval)
	e.held, e.lost = true, false
}

// elapse moves time a little, so that no two evaluations begin to wait at one instant.
func (w *world) elapse() {
	w.now = w.now.Add(time.Nanosecond)
	w.rec.line("elapse by=1ns")
}

// pass lets time pass until the nack timer of worker slow fires or, if slow is -1, the
// first waiting evaluation stops waiting. The plans of the other workers are in the plan
// queue meanwhile, so that these keep their evaluations.
func (w *world) pass(slow int) error {
	var paused []int
	for i := range w.workers {
		if wk := &w.workers[i]; wk.busy && i != slow {
			id := w.evals[wk.eval].eval.ID
			w.rec.line("pause id=%s", id)
			if err := w.b.PauseNackTimeout(w.now, id, wk.token); err != nil {
				return interleave.Violated("protocol", "pausing the nack timer of %s: %v", id, err)
			}
			paused = append(paused, i)
		}
	}
	to := w.now.Add(nackTimeout)
	if slow < 0 {
		to, _ = w.b.NextDeadline()
	}
	w.rec.line("advance by=%v", to.Sub(w.now))
	w.now = to
	w.b.Advance(w.now)
	for _, i := range paused {
		id := w.evals[w.workers[i].eval].eval.ID
		w.rec.line("resume id=%s", id)
		if err := w.b.ResumeNackTimeout(w.now, id, w.workers[i].token); err != nil {
			return interleave.Violated("protocol", "resuming the nack timer of %s: %v", id, err)
		}
	}
	return nil
}

// lose takes a worker's evaluation away. The worker is free at once: until it notices, it
// can only make late calls, which are tried now and whenever the evaluation is delivered
// again.
func (w *world) lose(wk *worker) error {
	id := w.evals[wk.eval].eval.ID
	w.stale = append(w.stale, staleToken{id, wk.token})
	*wk = worker{}
	return w.tryStale(id)
}

// tryStale verifies that late acks, nacks and completions of an evaluation are refused.
func (w *world) tryStale(id string) error {
	for _, s := range w.stale {
		if s.id != id {
			continue
		}
		if _, err := w.b.Ack(w.now, id, s.token); err == nil {
			return interleave.Violated("protocol", "a late ack of %s was accepted", id)
		}
		if err := w.b.Nack(w.now, id, s.token); err == nil {
			return interleave.Violated("protocol", "a late nack of %s was accepted", id)
		}
		if err := w.b.OutstandingReset(w.now, id, s.token); err == nil {
			return interleave.Violated("protocol", "a late completion of %s was accepted", id)
		}
	}
	return nil
}

// checkStale verifies that no earlier token is valid.
func (w *world) checkStale() error {
	for _, s := range w.stale {
		if token, ok := w.b.Outstanding(s.id); ok && token == s.token {
			return interleave.Violated("protocol", "a token of %s that had become invalid is valid again", s.id)
		}
	}
	return nil
}
