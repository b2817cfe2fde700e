package conditions

import (
	"fmt"
	"time"
)

var _ = register("evals", EvalsCreated{})

// EvalsCreated: that many evaluations have been created since the run began.
type EvalsCreated struct {
	AtLeast int `lang:"required,min=1"`
}

func (c EvalsCreated) Met(w *Watch) (time.Time, bool) {
	w.own.see(w.Last.At, w.Last.Cluster.Counters.EvalsCreated >= uint64(c.AtLeast))
	return w.own.Since, w.own.Holds
}

func (c EvalsCreated) Hold() time.Duration { return 0 }

func (c EvalsCreated) Progress(w *Watch) float64 {
	return min(float64(w.Last.Cluster.Counters.EvalsCreated)/float64(c.AtLeast), 1)
}

func (c EvalsCreated) Lacking(w *Watch) string {
	return fmt.Sprintf("%d of %d evaluations were created", w.Last.Cluster.Counters.EvalsCreated, c.AtLeast)
}
