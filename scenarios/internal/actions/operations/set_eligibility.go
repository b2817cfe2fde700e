package operations

import (
	"fmt"

	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

var _ = actions.RegisterAction("set_eligibility", SetEligibility{}, actions.Soak{
	Draws: []actions.Draw{{Kind: actions.OfOperators, Place: 3, Weight: 1, Event: drawSetEligibility}},
	Refused: func(e draw.Event, _, all []draw.Event) bool { // a node that drains
		return e.Says("eligible = true") && draw.Has(all, "drain_nodes")
	},
})

// SetEligibility says whether schedulers may place on nodes.
type SetEligibility struct {
	request
	Nodes
	Eligible bool
}

func (a SetEligibility) Mark() string {
	if a.Eligible {
		return a.mark("becomes eligible", "become eligible")
	}
	return a.mark("becomes ineligible", "become ineligible")
}

func (a SetEligibility) Do(s *actions.Stage) error {
	return a.each(s, "set eligibility of node", func(id string) error { return s.Cluster.SetEligibility(s.Ctx, id, a.Eligible) })
}

func drawSetEligibility(s *draw.Source) draw.Event {
	return draw.NewEvent("set_eligibility", s.Nodes(), fmt.Sprintf("eligible = %t", s.Chance(1, 2)))
}
