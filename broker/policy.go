package broker

// Policy is what differs between evaluation brokers: the order of one job's pending
// evaluations, and which of them an Ack makes superfluous. A Policy has no state of its
// own; one value may serve many brokers at once.
type Policy interface {
	// String returns the name by which PolicyByName finds the policy.
	String() string
	// Less orders one job's pending evaluations: the best first. It must be a strict
	// weak ordering that depends on nothing but the two; the broker breaks ties by ID.
	Less(a, b *Evaluation) bool
	// Shed is called on a successful Ack with the acked job's pending evaluations in
	// hand: it removes from them what is not needed any more and returns that. The broker
	// then moves the best remaining one to ready. The result must list each removed
	// evaluation once, in an order that does not depend on map iteration; the slice
	// becomes the broker's.
	Shed(pending *PendingEvaluations) (cancelable []*Evaluation)
}

// EnqueueShedder is a Policy that also sheds while its job is busy. Mind that the
// evaluation in flight may work on a snapshot older than the pending ones: shedding them
// all loses a wake-up.
type EnqueueShedder interface {
	Policy
	// ShedOnEnqueue is called after an evaluation became pending; its contract is that of
	// Shed, except that nothing becomes ready.
	ShedOnEnqueue(pending *PendingEvaluations) (cancelable []*Evaluation)
}

// Legacy returns the policy of Nomad up to 1.4.2 (nomad/eval_broker.go, v1.4.2): each
// Ack makes one pending evaluation ready, the oldest; nothing is ever shed. Priority is
// not compared, for one job's evaluations compare by CreateIndex alone.
func Legacy() Policy { return legacy{} }

// Shedding returns the policy of Nomad from 1.4.3 (nomad/eval_broker.go, v1.4.3,
// BlockedEvaluations.MarkForCancel): each Ack keeps the pending evaluation of highest
// Priority, and among these of highest ModifyIndex, and sheds all others.
func Shedding() Policy { return shedding{} }

type legacy struct{}

func (legacy) String() string                                 { return "legacy" }
func (legacy) Less(a, b *Evaluation) bool                     { return a.CreateIndex < b.CreateIndex }
func (legacy) Shed(pending *PendingEvaluations) []*Evaluation { return nil }

type shedding struct{}

func (shedding) String() string { return "shedding" }

func (shedding) Less(a, b *Evaluation) bool {
	if a.Priority != b.Priority {
		return a.Priority > b.Priority
	}
	return a.ModifyIndex > b.ModifyIndex
}

func (shedding) Shed(pending *PendingEvaluations) []*Evaluation { return pending.KeepBest() }
