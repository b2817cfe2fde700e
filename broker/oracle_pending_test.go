package broker_test

import (
	"cmp"
	"iter"
	"slices"

	"github.com/simctl/simctl/broker"
)

// oraclePending is the oracle's broker.PendingEvaluations, each of whose methods sorts the
// job's list anew. With it the oracle runs the same policy as the broker.
type oraclePending struct {
	o   *oracle
	job broker.JobID
}

func (p oraclePending) Len() int { return len(p.o.pending(p.job)) }

func (p oraclePending) All() iter.Seq[*broker.Evaluation] {
	return func(yield func(*broker.Evaluation) bool) {
		for _, it := range p.o.pending(p.job) {
			if !yield(it.eval) {
				return
			}
		}
	}
}

func (p oraclePending) KeepBest() []*broker.Evaluation {
	var best *broker.Evaluation
	for e := range p.All() {
		best = e
		break
	}
	return p.RemoveFunc(func(e *broker.Evaluation) bool { return e != best })
}

func (p oraclePending) RemoveFunc(remove func(*broker.Evaluation) bool) []*broker.Evaluation {
	var removed []*broker.Evaluation
	for _, it := range p.o.pending(p.job) {
		if remove(it.eval) {
			p.o.remove(it)
			removed = append(removed, it.eval)
		}
	}
	return removed
}

// shedBy calls a method of the policy for a job and returns how many evaluations it shed.
func (o *oracle) shedBy(shed func(broker.PendingEvaluations) []*broker.Evaluation, job broker.JobID) int {
	evals := shed(oraclePending{o, job})
	o.cancelable = append(o.cancelable, evals...)
	o.shed = append(o.shed, evals...)
	return len(evals)
}

// pending returns a job's pending evaluations, the best first.
func (o *oracle) pending(job broker.JobID) []*item {
	var pending []*item
	for _, it := range o.items {
		if it.where == "pending" && it.eval.Job() == job {
			pending = append(pending, it)
		}
	}
	slices.SortFunc(pending, func(a, b *item) int { return o.pendingOrder(a.eval, b.eval) })
	return pending
}

func (o *oracle) pendingOrder(a, b *broker.Evaluation) int {
	switch {
	case o.policy.Less(a, b):
		return -1
	case o.policy.Less(b, a):
		return 1
	}
	return cmp.Compare(a.ID, b.ID)
}
