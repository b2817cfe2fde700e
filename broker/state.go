package broker

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// State is what decides how a broker will behave, in a canonical order: two brokers of
// equal State, configuration and random source answer alike, but for enqueues of IDs that
// were shed. It serves tests, the explorer and debugging; it is not cheap.
type State struct {
	Enabled    bool
	Ready      []Held        // by queue, each in the order of dequeuing
	Unacked    []Held        // by evaluation ID
	Waiting    []Held        // in the order of firing
	Pending    []Held        // by job, each the best first
	Cancelable []*Evaluation // in the order of shedding
}

// Held is one evaluation in a broker. Which fields are set depends on where it is.
type Held struct {
	Eval *Evaluation
	// Queue is the ready queue it is in or was dequeued from: a scheduler type.
	Queue string
	// Deliveries counts how often it was dequeued.
	Deliveries int
	// Token, Paused and Requeue are those of an unacked evaluation.
	Token   string
	Paused  bool
	Requeue *Evaluation
	// Redelivery says of a waiting evaluation that it was nacked, and occupies its job.
	Redelivery bool
	// Deadline is when the nack timer or the wait ends; zero: no timer runs.
	Deadline time.Time
}

// State returns the broker's state. The slices are the caller's.
func (b *EvalBroker) State() State {
	var s State
	b.ReadState(&s)
	return s
}

// ReadState is State into slices that are used again.
func (b *EvalBroker) ReadState(s *State) {
	s.Enabled = b.enabled
	s.Ready, s.Unacked, s.Waiting, s.Pending = s.Ready[:0], s.Unacked[:0], s.Waiting[:0], s.Pending[:0]
	for r := range b.tracked.all {
		h := Held{Eval: r.eval, Deliveries: r.deliveries, Requeue: r.requeue}
		if r.queue != nil {
			h.Queue = r.queue.name
		}
		if r.armed >= 0 {
			h.Deadline = b.epoch.Add(r.deadline)
		}
		switch r.place {
		case placeReady:
			s.Ready = append(s.Ready, h)
		case placeUnacked:
			h.Token, h.Paused = r.token, r.armed < 0
			s.Unacked = append(s.Unacked, h)
		default:
			h.Redelivery = r.place == placeRedeliver
			s.Waiting = append(s.Waiting, h)
		}
	}
	for j := range b.jobs.all {
		for e := range j.pending.All() {
			s.Pending = append(s.Pending, Held{Eval: e})
		}
	}
	s.Cancelable = b.cancelable.appendTo(s.Cancelable[:0])
	b.sort(s)
}

func (b *EvalBroker) sort(s *State) {
	order := pendingOrder{b.policy}
	slices.SortFunc(s.Ready, func(x, y Held) int {
		return cmp.Or(cmp.Compare(x.Queue, y.Queue), cmp.Compare(y.Eval.Priority, x.Eval.Priority),
			cmp.Compare(x.Eval.CreateIndex, y.Eval.CreateIndex), cmp.Compare(x.Eval.ID, y.Eval.ID))
	})
	slices.SortFunc(s.Unacked, func(x, y Held) int { return cmp.Compare(x.Eval.ID, y.Eval.ID) })
	slices.SortFunc(s.Waiting, func(x, y Held) int {
		if firesBefore(b.tracked.get(x.Eval.ID), b.tracked.get(y.Eval.ID)) {
			return -1
		}
		return 1
	})
	slices.SortFunc(s.Pending, func(x, y Held) int {
		return cmp.Or(compareJobs(x.Eval.Job(), y.Eval.Job()), compare(x, y, order.before))
	})
}

func compare(x, y Held, before func(a, b *Evaluation) bool) int {
	switch {
	case before(x.Eval, y.Eval):
		return -1
	case before(y.Eval, x.Eval):
		return 1
	}
	return 0
}

func compareJobs(a, b JobID) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.ID, b.ID))
}

// Check verifies what must hold in every state whatever the policy: no evaluation is
// held twice, a job has at most one evaluation that is ready, unacked or waiting for
// redelivery, and it has one if any of its evaluations is pending, for nothing else
// would ever make that ready.
func (s *State) Check() error {
	type key struct {
		job JobID
		id  string
	}
	held := make(map[key]string)
	active := make(map[JobID]string)
	var errs []error
	visit := func(place string, hs []Held, occupies func(Held) bool) {
		for _, h := range hs {
			job := h.Eval.Job()
			k := key{job, h.Eval.ID}
			if other, twice := held[k]; twice {
				errs = append(errs, fmt.Errorf("evaluation %q of job %q is both %s and %s", k.id, job.ID, other, place))
			}
			held[k] = place
			if !occupies(h) {
				continue
			}
			if other, twice := active[job]; twice {
				errs = append(errs, fmt.Errorf("job %q has two evaluations in flight, %q and %q", job.ID, other, k.id))
			}
			active[job] = k.id
		}
	}
	always := func(Held) bool { return true }
	visit("ready", s.Ready, always)
	visit("unacked", s.Unacked, always)
	visit("waiting", s.Waiting, func(h Held) bool { return h.Redelivery })
	visit("pending", s.Pending, func(Held) bool { return false })
	for _, h := range s.Pending {
		if _, ok := active[h.Eval.Job()]; !ok {
			errs = append(errs, fmt.Errorf("evaluation %q of job %q is pending and nothing will make it ready", h.Eval.ID, h.Eval.JobID))
		}
	}
	if !s.Enabled && len(held)+len(s.Cancelable) > 0 {
		errs = append(errs, fmt.Errorf("a disabled broker holds %d evaluations", len(held)+len(s.Cancelable)))
	}
	return errors.Join(errs...)
}
