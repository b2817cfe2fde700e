package faults

import (
	"fmt"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

var _ = actions.RegisterAction("partition", Partition{}, actions.Soak{Draws: []actions.Draw{
	{Kind: actions.OfNetwork, Place: 1, Weight: 2, Event: drawPartition},
	{Kind: actions.OfNetwork, Place: 2, Weight: 1, Event: drawClientsCutOff},
}})

// Partition cuts links.
type Partition struct{ Links }

func (a Partition) Check(servers int) error { return a.check(servers) }
func (a Partition) Mark() string            { return a.mark("a partition") }

func (a Partition) Do(s *actions.Stage) error {
	return a.disturb(s, cluster.Link{Loss: 1}, "the partition heals")
}

func drawPartition(s *draw.Source) draw.Event {
	return draw.NewEvent("partition", append([]string{s.Lasts(), fmt.Sprintf("one_way = %t", s.Chance(1, 3))}, drawEnds(s)...)...)
}

func drawClientsCutOff(s *draw.Source) draw.Event {
	return draw.NewEvent("partition", s.Lasts(), "", "from {", "  clients = "+s.Between(0.1, 1), "}")
}
