package forecast

import (
	"time"

	"github.com/simctl/simctl/scenarios"
)

// Pace tells how long a run under way still takes, by how long it has taken so far.
type Pace struct {
	Cost  Cost
	since time.Time // when the run began or, without formulae, its phase
	phase int
}

// Before a run has gone so long and so far, its pace says nothing.
const (
	leastSeen = 5 * time.Second
	leastDone = 0.05
)

// Left returns how long the run takes from now on. It is not ok if nobody can know: soon after
// the start, in a phase that does not move yet and, without formulae, before the last phase.
func (p *Pace) Left(now time.Time, at scenarios.Progress) (left time.Duration, ok bool) {
	if p.since.IsZero() || !p.Cost.Known() && at.PhaseIndex != p.phase {
		p.since, p.phase = now, at.PhaseIndex
	}
	done := p.Cost.Done(at)
	if !p.Cost.Known() {
		if at.PhaseIndex < at.Phases-1 {
			return 0, false
		}
		done = at.Done
	}
	seen := now.Sub(p.since)
	if seen < leastSeen || at.Done < moves || done < leastDone || done >= 1 {
		return 0, false
	}
	return time.Duration(float64(seen) * (1 - done) / done), true
}
