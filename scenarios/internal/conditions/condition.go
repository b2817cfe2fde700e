package conditions

import (
	"time"

	"github.com/simctl/simctl/scenarios/internal/words"
)

// Condition ends a phase.
type Condition interface {
	// Met reports since when the condition has held, given everything seen in the phase.
	// The phase ends once that is Hold ago.
	Met(w *Watch) (since time.Time, ok bool)
	// Hold is how long the condition must hold.
	Hold() time.Duration
	// Progress estimates how far the phase is, 0 to 1; -1 if it cannot be told.
	Progress(w *Watch) float64
	// Lacking says what the condition still waits for.
	Lacking(w *Watch) string
}

// What a Condition can say about itself besides.
type (
	// Checker is a Condition that can be wrong before anything runs.
	Checker interface{ Check() error }
	// Measured is a Condition that can say how far from it a sample is: 0 where it holds.
	Measured interface{ Far(s Sample) int }
	// Counted is a Condition that waits for one count alone. Its phase stalls when the count comes
	// no nearer, whatever else goes on. Any other phase stalls when the cluster has no work, or
	// long after the work last brought it nearer.
	Counted interface {
		Measured
		Counted()
	}
	// Recoverer is a Condition with a notion of recovery of its own.
	Recoverer interface{ Recovery(w *Watch) Span }
	// Retrospective is a Condition that looks at the evaluations of the last Span, which only
	// simulated clusters tell of.
	Retrospective interface{ Span() time.Duration }
	// Quiescence is a Condition that holds only when every evaluation has been processed.
	Quiescence interface{ Quiescent() }
)

// Quiet is how long a cluster must hold no pending evaluation to count as recovered.
const Quiet = 5 * time.Second

// Keywords are the keywords of conditions.
var Keywords = words.Registry[struct{}, Condition]{}

// register declares a keyword whose block fills the Condition.
func register[C Condition](keyword string, defaults C) struct{} {
	words.Add(Keywords, keyword, defaults, func(c C, _ struct{}) (Condition, error) {
		if checked, ok := any(c).(Checker); ok {
			return c, checked.Check()
		}
		return c, nil
	})
	return struct{}{}
}

// Recovery is the span that counts as recovery in a phase that ends by the condition.
func Recovery(c Condition, w *Watch) Span {
	if r, ok := c.(Recoverer); ok {
		return r.Recovery(w)
	}
	return w.recovered
}
