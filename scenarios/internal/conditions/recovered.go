package conditions

import (
	"fmt"
	"time"
)

var _ = register("recovered", Recovered{For: Quiet})

// Recovered: neither the broker nor the state holds a pending evaluation, and that has been
// so for For. With AfterDown every stopped client's node is down besides.
type Recovered struct {
	For       time.Duration
	AfterDown bool
}

func (c Recovered) Recovery(w *Watch) Span {
	if !c.AfterDown {
		return w.recovered
	}
	return w.recovered.and(w.down)
}

func (c Recovered) Met(w *Watch) (time.Time, bool) {
	s := c.Recovery(w)
	return s.Since, s.Holds
}

func (c Recovered) Hold() time.Duration { return c.For }
func (c Recovered) Quiescent()          {}

func (c Recovered) Progress(w *Watch) float64 {
	ratio := func(part, whole int) float64 {
		if whole <= 0 {
			return 1
		}
		return float64(min(max(part, 0), whole)) / float64(whole)
	}
	drained := ratio(w.peakOpen-w.Last.Cluster.StatePending, w.peakOpen)
	if !w.EventsOver {
		return 0
	}
	if !c.AfterDown {
		return drained
	}
	// Expiry and draining go on side by side; the phase is as far as the slower of them.
	return min(ratio(w.Last.gone()-w.goneFirst, w.Last.Fleet.Stopped-w.goneFirst), drained)
}

func (c Recovered) Lacking(w *Watch) string {
	s := w.Last.Cluster
	text := fmt.Sprintf("%d evaluations are ready, %d with workers, %d pending, %d cancelable and %d pending in state",
		s.Broker.Ready, s.Broker.Unacked, s.Broker.Pending, s.Broker.Cancelable, s.StatePending)
	if c.AfterDown {
		text += fmt.Sprintf("; %d of %d stopped clients are down", w.Last.gone(), w.Last.Fleet.Stopped)
	}
	if s.Leader == "" {
		text += "; there is no leader"
	}
	return text
}
