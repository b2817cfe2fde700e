package conditions

import (
	"fmt"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
)

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

func (c Settled) Lacking(w *Watch) string {
	s := w.Last
	return fmt.Sprintf("%s; %d clients run, of which the servers know %d as ready; %d of %d stopped clients are down",
		Recovered{}.Lacking(w), s.Fleet.Running, s.Cluster.NodesByStatus[rpc.NodeStatusReady], s.gone(), s.Fleet.Stopped)
}
