package broker

func init() { register(legacy{}, "an ack sheds nothing; the evaluation created first is the best") }

// Legacy returns the policy of Nomad up to 1.4.2 (nomad/eval_broker.go, v1.4.2): each Ack
// makes one pending evaluation ready, the oldest, and nothing is ever shed. Priorities do
// not count, for one job's evaluations compare by CreateIndex alone.
func Legacy() Policy { return legacy{} }

type legacy struct{}

func (legacy) String() string { return "legacy" }

func (legacy) Release() string { return "1.4.2" }

func (legacy) Less(a, b *Evaluation) bool { return a.CreateIndex < b.CreateIndex }

func (legacy) Shed(PendingEvaluations) []*Evaluation { return nil }
