package broker

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// State is what decides how a broker will behave, in a canonical order. Two brokers of
// equal State, configuration and random source answer alike, but for enqueues of IDs that
// were shed. It serves tests, the explorer and debugging, and is not cheap.
type State struct {
	Enabled    bool
	Ready      []Held        // by queue, each in the order of dequeuing
	Unacked    []Held        // by evaluation ID
	Waiting    []Held        // in the order of firing
	Pending    []Held        // by job, each the best first
	Cancelable []*Evaluation // in the order of shedding
}

// Held is one evaluation in a broker. Fields that do not apply where it is are zero.
type Held struct {
	Eval *Evaluation
	// Queue is the ready queue it is in or was dequeued from: a scheduler type.
	Queue string
	// Deliveries is how often it was dequeued.
	Deliveries int
	// Token, Paused and Requeue are those of an unacked evaluation.
	Token   string
	Paused  bool
	Requeue *Evaluation
	// Redelivery says of a waiting evaluation that it was nacked, and keeps its job busy.
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

// ReadState is State into the slices of an earlier one.
func (b *EvalBroker) ReadState(s *State) {
	s.Enabled = b.enabled
	s.Ready, s.Unacked, s.Waiting, s.Pending = s.Ready[:0], s.Unacked[:0], s.Waiting[:0], s.Pending[:0]
	for _, j := range b.jobs {
		if j.active != nil {
			b.readRecord(s, j.active)
		}
		for e := range j.pending.All() {
			s.Pending = append(s.Pending, Held{Eval: e})
		}
	}
	for _, r := range b.deadlines.Items {
		if r.place == placeDelayed {
			b.readRecord(s, r)
		}
	}
	s.Cancelable = s.Cancelable[:0]
	for _, l := range b.cancelable {
		s.Cancelable = append(s.Cancelable, l.evals...)
	}
	b.sort(s)
}

func (b *EvalBroker) readRecord(s *State, r *record) {
	h := Held{Eval: r.eval, Deliveries: r.deliveries, Requeue: r.requeue}
	if r.queue >= 0 {
		h.Queue = b.queues[r.queue].name
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

func (b *EvalBroker) sort(s *State) {
	slices.SortFunc(s.Ready, func(x, y Held) int {
		return cmp.Or(cmp.Compare(x.Queue, y.Queue), cmp.Compare(y.Eval.Priority, x.Eval.Priority),
			cmp.Compare(x.Eval.CreateIndex, y.Eval.CreateIndex), cmp.Compare(x.Eval.ID, y.Eval.ID))
	})
	slices.SortFunc(s.Unacked, func(x, y Held) int { return cmp.Compare(x.Eval.ID, y.Eval.ID) })
	slices.SortFunc(s.Waiting, func(x, y Held) int {
		return compare(b.tracked[x.Eval.ID], b.tracked[y.Eval.ID], firesBefore)
	})
	slices.SortFunc(s.Pending, func(x, y Held) int {
		return cmp.Or(compareJobs(x.Eval, y.Eval), compare(x.Eval, y.Eval, b.before))
	})
}

func compareJobs(x, y *Evaluation) int {
	return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.JobID, y.JobID))
}

// Check verifies what must hold in every state under every policy: no evaluation is held
// twice; a job has at most one evaluation in flight, which is ready, unacked or waiting
// for redelivery; and a job with pending evaluations has one in flight, for nothing else
// makes them ready.
func (s *State) Check() error {
	all := make([]holding, 0, 16)
	for _, at := range []struct {
		place string
		held  []Held
	}{{"ready", s.Ready}, {"unacked", s.Unacked}, {"waiting", s.Waiting}, {"pending", s.Pending}} {
		for _, h := range at.held {
			all = append(all, holding{h.Eval, at.place, at.place != "pending" && (at.place != "waiting" || h.Redelivery)})
		}
	}
	slices.SortStableFunc(all, func(x, y holding) int {
		return cmp.Or(compareJobs(x.eval, y.eval), cmp.Compare(x.eval.ID, y.eval.ID))
	})
	var errs []error
	if !s.Enabled && len(all)+len(s.Cancelable) > 0 {
		errs = append(errs, fmt.Errorf("a disabled broker holds %d evaluations", len(all)+len(s.Cancelable)))
	}
	for from := 0; from < len(all); {
		to := from + 1
		for to < len(all) && compareJobs(all[from].eval, all[to].eval) == 0 {
			to++
		}
		errs = append(errs, checkJob(all[from:to])...)
		from = to
	}
	return errors.Join(errs...)
}

// holding is where an evaluation is, and whether its job works on it.
type holding struct {
	eval     *Evaluation
	place    string
	inFlight bool
}

// checkJob verifies what a State has of one job, sorted by ID.
func checkJob(held []holding) (errs []error) {
	var inFlight *Evaluation
	for i, h := range held {
		if i > 0 && held[i-1].eval.ID == h.eval.ID {
			errs = append(errs, fmt.Errorf("evaluation %q of job %q is both %s and %s", h.eval.ID, h.eval.JobID, held[i-1].place, h.place))
		}
		if !h.inFlight {
			continue
		}
		if inFlight != nil {
			errs = append(errs, fmt.Errorf("job %q has two evaluations in flight, %q and %q", h.eval.JobID, inFlight.ID, h.eval.ID))
		}
		inFlight = h.eval
	}
	for _, h := range held {
		if h.place == "pending" && inFlight == nil {
			errs = append(errs, fmt.Errorf("evaluation %q of job %q is pending and nothing will make it ready", h.eval.ID, h.eval.JobID))
		}
	}
	return errs
}
