package conditions

import (
	"fmt"
	"time"
)

var _ = register("elapsed", Elapsed{})

// Elapsed: the phase has lasted For, whatever has become of it.
type Elapsed struct {
	For time.Duration `lang:"required"`
}

func (c Elapsed) Met(w *Watch) (time.Time, bool) { return w.Start, true }
func (c Elapsed) Hold() time.Duration            { return c.For }

// Idle returns For: quiet is no failure when only time is waited for.
func (c Elapsed) Idle() time.Duration { return c.For }

func (c Elapsed) Progress(w *Watch) float64 {
	if c.For <= 0 {
		return 1
	}
	return min(w.Last.At.Sub(w.Start).Seconds()/c.For.Seconds(), 1)
}

func (c Elapsed) Lacking(w *Watch) string {
	return fmt.Sprintf("%v of %v are over", w.Last.At.Sub(w.Start).Round(time.Second), c.For)
}

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
