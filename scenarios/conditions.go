package scenarios

import (
	"fmt"
	"time"
)

// Conditions that say nothing of recovery: they end a phase in the middle of things.
type (
	// Elapsed: the phase has lasted For.
	Elapsed struct {
		For time.Duration `lang:"required"`
	}
	// QueueDepth: what the broker holds for workers (ready, unacked and pending) has been
	// within AtLeast and AtMost for For; nil is no bound.
	QueueDepth struct {
		AtLeast, AtMost *int
		For             time.Duration
	}
	// EvalsCreated: that many evaluations have been created since the run began.
	EvalsCreated struct {
		AtLeast int `lang:"required,min=1"`
	}
)

func (c Elapsed) met(w *watch) (time.Time, bool) { return w.start, true }
func (c Elapsed) hold() time.Duration            { return c.For }

func (c Elapsed) done(w *watch) float64 {
	if c.For <= 0 {
		return 1
	}
	return min(w.last.at.Sub(w.start).Seconds()/c.For.Seconds(), 1)
}

func (c Elapsed) lacking(w *watch) string {
	return fmt.Sprintf("%v of %v are over", w.last.at.Sub(w.start).Round(time.Second), c.For)
}

// check returns what is wrong with the condition.
func (c QueueDepth) check() error {
	switch {
	case c.AtLeast == nil && c.AtMost == nil:
		return fmt.Errorf("it must say at_least or at_most, or both")
	case c.AtLeast != nil && c.AtMost != nil && *c.AtLeast > *c.AtMost:
		return fmt.Errorf("nothing is %d at least and %d at most", *c.AtLeast, *c.AtMost)
	}
	return nil
}

func (c QueueDepth) depth(w *watch) int {
	b := w.last.cluster.Broker
	return b.Ready + b.Unacked + b.Pending
}

func (c QueueDepth) met(w *watch) (time.Time, bool) {
	n := c.depth(w)
	within := w.last.cluster.Leader != "" && (c.AtLeast == nil || n >= *c.AtLeast) && (c.AtMost == nil || n <= *c.AtMost)
	w.own.see(w.last.at, within)
	return w.own.since, within
}

func (c QueueDepth) hold() time.Duration { return c.For }

func (c QueueDepth) done(w *watch) float64 {
	n := c.depth(w)
	if c.AtLeast != nil && n < *c.AtLeast {
		return float64(n) / float64(*c.AtLeast)
	}
	return -1
}

func (c QueueDepth) lacking(w *watch) string {
	text := fmt.Sprintf("the broker holds %d evaluations", c.depth(w))
	if c.AtLeast != nil {
		text += fmt.Sprintf(", %d at least are waited for", *c.AtLeast)
	}
	if c.AtMost != nil {
		text += fmt.Sprintf(", %d at most are waited for", *c.AtMost)
	}
	return text
}

func (c EvalsCreated) met(w *watch) (time.Time, bool) {
	holds := w.last.cluster.Counters.EvalsCreated >= uint64(c.AtLeast)
	w.own.see(w.last.at, holds)
	return w.own.since, holds
}

func (c EvalsCreated) hold() time.Duration { return 0 }

func (c EvalsCreated) done(w *watch) float64 {
	return min(float64(w.last.cluster.Counters.EvalsCreated)/float64(c.AtLeast), 1)
}

func (c EvalsCreated) lacking(w *watch) string {
	return fmt.Sprintf("%d of %d evaluations were created", w.last.cluster.Counters.EvalsCreated, c.AtLeast)
}
