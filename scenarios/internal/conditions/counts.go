package conditions

import (
	"errors"
	"fmt"
	"time"

	"github.com/simctl/simctl/scenarios/internal/english"
)

var _ = register("elapsed", Elapsed{})

// Elapsed: the phase has lasted For, whatever has become of it.
type Elapsed struct {
	For time.Duration `lang:"required"`
}

func (c Elapsed) Met(w *Watch) (time.Time, bool) { return w.Start, true }
func (c Elapsed) Hold() time.Duration            { return c.For }

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
func (c EvalsCreated) Counted()            {}

func (c EvalsCreated) Far(s Sample) int {
	return max(0, c.AtLeast-int(s.Cluster.Counters.EvalsCreated))
}

func (c EvalsCreated) Progress(w *Watch) float64 {
	return min(float64(w.Last.Cluster.Counters.EvalsCreated)/float64(c.AtLeast), 1)
}

func (c EvalsCreated) Lacking(w *Watch) string {
	return fmt.Sprintf("%d of %s created", w.Last.Cluster.Counters.EvalsCreated, english.Agree(c.AtLeast, "evaluation was", "evaluations were"))
}

var _ = register("queue", QueueDepth{})

// QueueDepth: what the broker holds for workers (ready, unacked and pending) has been within
// AtLeast and AtMost for For; nil is no bound.
type QueueDepth struct {
	AtLeast, AtMost *int
	For             time.Duration
}

func (c QueueDepth) Check() error {
	switch {
	case c.AtLeast == nil && c.AtMost == nil:
		return errors.New("it must say at_least or at_most, or both")
	case c.AtLeast != nil && c.AtMost != nil && *c.AtLeast > *c.AtMost:
		return fmt.Errorf("nothing is %d at least and %d at most", *c.AtLeast, *c.AtMost)
	}
	return nil
}

func (c QueueDepth) depth(w *Watch) int {
	b := w.Last.Cluster.Broker
	return b.Ready + b.Unacked + b.Pending
}

func (c QueueDepth) Met(w *Watch) (time.Time, bool) {
	n := c.depth(w)
	within := w.Last.Cluster.Leader != "" && (c.AtLeast == nil || n >= *c.AtLeast) && (c.AtMost == nil || n <= *c.AtMost)
	w.own.see(w.Last.At, within)
	return w.own.Since, within
}

func (c QueueDepth) Hold() time.Duration { return c.For }
func (c QueueDepth) Counted()            {}

func (c QueueDepth) Far(s Sample) int {
	n, far := s.jobsEvals(), 0
	if c.AtLeast != nil {
		far = max(far, *c.AtLeast-n)
	}
	if c.AtMost != nil {
		far = max(far, n-*c.AtMost)
	}
	return far
}

func (c QueueDepth) Progress(w *Watch) float64 {
	n := c.depth(w)
	if c.AtLeast != nil && n < *c.AtLeast {
		return float64(n) / float64(*c.AtLeast)
	}
	return -1
}

func (c QueueDepth) Lacking(w *Watch) string {
	text := fmt.Sprintf("the broker holds %s", english.Plural(c.depth(w), "evaluation"))
	if c.AtLeast != nil {
		text += fmt.Sprintf(", and the phase waits for %d or more", *c.AtLeast)
	}
	if c.AtMost != nil {
		text += fmt.Sprintf(", and the phase waits for %d or fewer", *c.AtMost)
	}
	return text
}
