package broker

func init() {
	register(shedding{}, "an ack sheds all pending evaluations of the job but the best, which has the highest priority and then was modified last")
}

// Shedding returns the policy of Nomad from 1.4.3 (nomad/eval_broker.go, v1.4.3,
// PendingEvaluations.MarkForCancel): each Ack keeps the pending evaluation of highest
// Priority, and among these of highest ModifyIndex, and sheds all others.
func Shedding() Policy { return shedding{} }

type shedding struct{}

func (shedding) String() string { return "shedding" }

func (shedding) Release() string { return "1.4.3" }

func (shedding) Less(a, b *Evaluation) bool {
	if a.Priority != b.Priority {
		return a.Priority > b.Priority
	}
	return a.ModifyIndex > b.ModifyIndex
}

func (shedding) Shed(pending PendingEvaluations) []*Evaluation { return pending.KeepBest() }
