package operations

import (
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

var _ = actions.RegisterAction("collect_garbage", CollectGarbage{}, actions.Soak{
	Draws: []actions.Draw{{Kind: actions.OfOperators, Place: 7, Weight: 1, Event: drawCollectGarbage}},
	// Whether it takes nodes, with what operators said of them, hangs on the moment.
	Refused: func(_ draw.Event, _, all []draw.Event) bool {
		return draw.Has(all, "drain_nodes") || draw.Has(all, "set_eligibility")
	},
})

// CollectGarbage makes the cluster delete everything that is over, however new.
type CollectGarbage struct{ request }

func (CollectGarbage) Mark() string              { return "garbage is collected" }
func (CollectGarbage) Do(s *actions.Stage) error { return s.Cluster.ForceGC(s.Ctx) }

func drawCollectGarbage(s *draw.Source) draw.Event {
	if !s.Collects {
		return drawNodeEvents(s)
	}
	return draw.NewEvent("collect_garbage")
}
