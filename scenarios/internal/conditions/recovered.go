package conditions

import (
	"fmt"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/english"
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

func (c Recovered) Far(s Sample) int {
	far := s.jobsEvals() + s.Cluster.Broker.Cancelable + s.Cluster.StatePending
	if c.AfterDown {
		far += max(0, s.Fleet.Stopped-s.gone())
	}
	return far
}

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
	text := fmt.Sprintf("evaluations: %d ready, %d with workers, %d pending, %d cancelable and %d pending in state",
		s.Broker.Ready, s.Broker.Unacked, s.Broker.Pending, s.Broker.Cancelable, s.StatePending)
	if c.AfterDown {
		text += "; " + down(w)
	}
	if s.Leader == "" {
		text += "; there is no leader"
	}
	return text
}

var _ = register("settled", Settled{For: Quiet})

// Settled: recovered, and the servers know every client as it is, those that run as ready and
// the others as gone; and that has been so for For.
type Settled struct{ For time.Duration }

func (c Settled) Met(w *Watch) (time.Time, bool) {
	s := w.recovered.and(w.known)
	return s.Since, s.Holds
}

func (c Settled) Hold() time.Duration       { return c.For }
func (c Settled) Quiescent()                {}
func (c Settled) Progress(w *Watch) float64 { return Recovered{}.Progress(w) }

func (c Settled) Far(s Sample) int {
	unknown := max(s.Fleet.Running-s.Fleet.Ready, s.Fleet.Running-s.Cluster.NodesByStatus[rpc.NodeStatusReady], 0)
	return Recovered{AfterDown: true}.Far(s) + unknown
}

func (c Settled) Lacking(w *Watch) string {
	s := w.Last
	return fmt.Sprintf("%s; %s, of which the servers know %d as ready; %s",
		Recovered{}.Lacking(w), english.Plural(s.Fleet.Running, "running client"), s.Cluster.NodesByStatus[rpc.NodeStatusReady], down(w))
}

func down(w *Watch) string {
	return fmt.Sprintf("%d of %s down", w.Last.gone(), english.Agree(w.Last.Fleet.Stopped, "stopped client is", "stopped clients are"))
}

var _ = register("deployed", Deployed{For: Quiet})

// Deployed: settled, and no deployment is under way; and that has been so for For.
type Deployed struct{ For time.Duration }

func (c Deployed) Met(w *Watch) (time.Time, bool) {
	s := w.recovered.and(w.known).and(w.deployed)
	return s.Since, s.Holds
}

func (c Deployed) Hold() time.Duration       { return c.For }
func (c Deployed) Quiescent()                {}
func (c Deployed) Progress(w *Watch) float64 { return Recovered{}.Progress(w) }
func (c Deployed) Far(s Sample) int          { return Settled{}.Far(s) + s.Deploying }

func (c Deployed) Lacking(w *Watch) string {
	return fmt.Sprintf("%s; %s under way", Settled{}.Lacking(w), english.Plural(w.Last.Deploying, "deployment"))
}

var _ = register("registered", Registered{For: 3 * time.Second})

// Registered: every running client is ready and no evaluation has been created for For.
type Registered struct{ For time.Duration }

func (c Registered) Met(w *Watch) (time.Time, bool) {
	return later(w.ready.Since, w.created), w.ready.Holds
}

func (c Registered) Hold() time.Duration { return c.For }
func (c Registered) Far(s Sample) int    { return s.Fleet.Running - s.Fleet.Ready }

func (c Registered) Progress(w *Watch) float64 {
	if w.Last.Fleet.Running == 0 {
		return 0
	}
	return float64(w.Last.Fleet.Ready) / float64(w.Last.Fleet.Running)
}

func (c Registered) Lacking(w *Watch) string {
	f := w.Last.Fleet
	text := fmt.Sprintf("%d of %s ready", f.Ready, english.Agree(f.Running, "client is", "clients are"))
	if err := w.Last.FleetErr; err != nil {
		text += fmt.Sprintf("; %s and %s failed, the last with: %v",
			english.Plural(f.RegistrationErrors, "registration"), english.Plural(f.HeartbeatErrors, "heartbeat"), err)
	}
	return text
}
