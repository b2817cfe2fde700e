package conditions

import (
	"errors"
	"fmt"
	"time"
)

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

func (c QueueDepth) Progress(w *Watch) float64 {
	n := c.depth(w)
	if c.AtLeast != nil && n < *c.AtLeast {
		return float64(n) / float64(*c.AtLeast)
	}
	return -1
}

func (c QueueDepth) Lacking(w *Watch) string {
	text := fmt.Sprintf("the broker holds %d evaluations", c.depth(w))
	if c.AtLeast != nil {
		text += fmt.Sprintf(", %d at least are waited for", *c.AtLeast)
	}
	if c.AtMost != nil {
		text += fmt.Sprintf(", %d at most are waited for", *c.AtMost)
	}
	return text
}
