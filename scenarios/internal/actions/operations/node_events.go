package operations

import (
	"cmp"
	"fmt"

	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
	"github.com/simctl/simctl/scenarios/internal/english"
)

var _ = actions.RegisterAction("node_events", NodeEvents{Fraction: 1, Events: 1}, actions.Drawn(actions.OfClients, 6, 1, drawNodeEvents))

// NodeEvents makes something happen on nodes that their clients have to report: Events events
// on each, which a client sends 5 to 10 s later in one call. The nodes are those named in
// Nodes or, when none is, a Fraction of all.
type NodeEvents struct {
	request
	Nodes    []string
	Fraction float64
	Events   int
	Message  string // empty = "Driver health changed"
}

func (a NodeEvents) Mark() string {
	where := shareOfNodes(a.Fraction)
	if len(a.Nodes) > 0 {
		where = english.Plural(len(a.Nodes), "node")
	}
	return fmt.Sprintf("%s on %s", english.Plural(a.Events, "event"), where)
}

func (a NodeEvents) Do(s *actions.Stage) error {
	ids := a.Nodes
	if len(ids) == 0 {
		ids = firstNodes(s, a.Fraction)
	}
	return s.Cluster.EmitNodeEvents(s.Ctx, ids, a.Events, cmp.Or(a.Message, "Driver health changed"))
}

func drawNodeEvents(s *draw.Source) draw.Event {
	return draw.NewEvent("node_events", "fraction = "+s.Between(0.05, 1), fmt.Sprintf("events = %d", 1+s.Rand.IntN(12)))
}
