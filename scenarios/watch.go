package scenarios

import (
	"fmt"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/nodesim"
)

// sample is cluster and fleet at one instant.
type sample struct {
	at       time.Time
	cluster  cluster.Stats
	fleet    nodesim.Stats
	fleetErr error // the clients' latest
}

// queueEmpty: workers have nothing to do for any job. False without a leader: nobody can know.
// The ticks of garbage collection are no job's, and one that a sample happens to meet would be
// the last thing a phase was busy with.
func (s sample) queueEmpty() bool {
	b := s.cluster.Broker
	core := b.ByScheduler[rpc.JobTypeCore]
	return s.cluster.Leader != "" && b.Ready == core.Ready && b.Unacked == core.Unacked && b.Pending == 0
}

// recovered: nothing is left to do or to write off.
func (s sample) recovered() bool {
	return s.queueEmpty() && s.cluster.Broker.Cancelable == 0 && s.cluster.StatePending == 0
}

// allDown: the servers know of every stopped client that it is gone.
func (s sample) allDown() bool {
	return s.gone() >= s.fleet.Stopped
}

func (s sample) gone() int {
	return s.cluster.NodesByStatus[rpc.NodeStatusDown] + s.cluster.NodesByStatus[rpc.NodeStatusDisconnected] +
		int(s.cluster.Counters.NodesCollected)
}

// known: the servers know every client as it is.
func (s sample) known() bool {
	return s.fleet.Ready == s.fleet.Running && s.cluster.NodesByStatus[rpc.NodeStatusReady] == s.fleet.Running && s.allDown()
}

// span follows a condition over samples: since when it has held without a break.
type span struct {
	since time.Time
	holds bool
}

func (s *span) see(at time.Time, holds bool) {
	if holds && !s.holds {
		s.since = at
	}
	s.holds = holds
}

// watch is what the samples of one phase have shown so far.
type watch struct {
	start       time.Time
	last        sample
	samples     int
	eventsDone  bool
	queueEmpty  span
	recovered   span
	ready       span      // every running client is ready
	down        span      // every stopped client is down
	known       span      // every client is known as it is
	own         span      // for the condition's own use
	created     time.Time // when an evaluation was last created
	moved       time.Time // when anything the phase waits for last changed
	peakOpen    int       // most evaluations pending in state
	stoppedGone int       // nodes gone when the phase began
}

func newWatch(first sample) *watch {
	return &watch{
		start: first.at, last: first, created: first.at, moved: first.at,
		peakOpen: first.cluster.StatePending, stoppedGone: first.gone(),
	}
}

func (w *watch) add(s sample) {
	before, now := w.last.cluster, s.cluster
	if now.Counters.EvalsCreated != before.Counters.EvalsCreated {
		w.created = s.at
		// Something may have come and gone between two samples.
		w.recovered.holds, w.queueEmpty.holds = false, false
	}
	if w.samples == 0 || changed(w.last, s) {
		w.moved = s.at
	}
	w.queueEmpty.see(s.at, s.queueEmpty())
	w.recovered.see(s.at, s.recovered())
	w.ready.see(s.at, s.fleet.Ready == s.fleet.Running)
	w.down.see(s.at, s.allDown())
	w.known.see(s.at, s.known())
	w.peakOpen = max(w.peakOpen, now.StatePending)
	w.last = s
	w.samples++
}

// changed: something that ends a phase has come nearer, or gone further.
func changed(a, b sample) bool {
	return a.cluster.Counters != b.cluster.Counters || a.cluster.Account != b.cluster.Account || a.cluster.StatePending != b.cluster.StatePending ||
		a.cluster.Broker.Cancelable != b.cluster.Broker.Cancelable ||
		a.fleet.Ready != b.fleet.Ready || a.fleet.Registered != b.fleet.Registered
}

// secondsOf returns the time from the phase's start to the beginning of a span that holds;
// -1 if it does not.
func (w *watch) secondsOf(s span) float64 {
	if !s.holds {
		return -1
	}
	return s.since.Sub(w.start).Round(time.Microsecond).Seconds()
}

// recovery is the span that counts as recovery under the phase's condition.
func recovery(w *watch, until Condition) span {
	since, ok := w.recovered.since, w.recovered.holds
	if r, is := until.(Recovered); is && ok {
		since, ok = r.met(w)
	}
	return span{since, ok}
}

func (c Registered) met(w *watch) (time.Time, bool) {
	return later(w.ready.since, w.created), w.ready.holds
}

func (c Registered) hold() time.Duration { return c.For }

func (c Registered) done(w *watch) float64 {
	if w.last.fleet.Running == 0 {
		return 0
	}
	return float64(w.last.fleet.Ready) / float64(w.last.fleet.Running)
}

func (c Registered) lacking(w *watch) string {
	f := w.last.fleet
	text := fmt.Sprintf("%d of %d clients are ready", f.Ready, f.Running)
	if err := w.last.fleetErr; err != nil {
		text += fmt.Sprintf("; %d registrations and %d heartbeats failed, the last with: %v", f.RegistrationErrors, f.HeartbeatErrors, err)
	}
	return text
}

func (c Recovered) met(w *watch) (time.Time, bool) {
	if !c.AfterDown {
		return w.recovered.since, w.recovered.holds
	}
	return later(w.recovered.since, w.down.since), w.recovered.holds && w.down.holds
}

func (c Recovered) hold() time.Duration { return c.For }

func (c Recovered) done(w *watch) float64 {
	share := func(part, whole int) float64 {
		if whole <= 0 {
			return 1
		}
		return float64(min(max(part, 0), whole)) / float64(whole)
	}
	drained := share(w.peakOpen-w.last.cluster.StatePending, w.peakOpen)
	if !w.eventsDone {
		return 0
	}
	if !c.AfterDown {
		return drained
	}
	// Expiry and draining go on side by side; the phase is as far as the slower of them.
	return min(share(w.last.gone()-w.stoppedGone, w.last.fleet.Stopped-w.stoppedGone), drained)
}

func (c Settled) met(w *watch) (time.Time, bool) {
	return later(w.recovered.since, w.known.since), w.recovered.holds && w.known.holds
}

func (c Settled) hold() time.Duration { return c.For }

func (c Settled) done(w *watch) float64 { return Recovered{For: c.For}.done(w) }

func (c Settled) lacking(w *watch) string {
	s := w.last
	return fmt.Sprintf("%s; %d clients run, of which the servers know %d as ready; %d of %d stopped clients are down",
		Recovered{}.lacking(w), s.fleet.Running, s.cluster.NodesByStatus[rpc.NodeStatusReady], s.gone(), s.fleet.Stopped)
}

func (c Recovered) lacking(w *watch) string {
	s := w.last.cluster
	text := fmt.Sprintf("%d evaluations are ready, %d with workers, %d pending, %d cancelable and %d pending in state",
		s.Broker.Ready, s.Broker.Unacked, s.Broker.Pending, s.Broker.Cancelable, s.StatePending)
	if c.AfterDown {
		text += fmt.Sprintf("; %d of %d stopped clients are down", w.last.gone(), w.last.fleet.Stopped)
	}
	if s.Leader == "" {
		text += "; there is no leader"
	}
	return text
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
