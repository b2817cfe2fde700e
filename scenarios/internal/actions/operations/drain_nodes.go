package operations

import (
	"fmt"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

var (
	_ = actions.RegisterAction("drain_nodes", DrainNodes{}, actions.Drawn(actions.OfOperators, 1, 2, drawDrainNodes))
	_ = actions.RegisterAction("end_drains", EndDrains{}, actions.Drawn(actions.OfOperators, 2, 1, drawEndDrains))
)

// DrainNodes drains nodes, one call after the other.
type DrainNodes struct {
	request
	Nodes
	// Deadline is how long allocations may take to move; zero means as long as it takes, a
	// negative one stops them at once.
	Deadline         time.Duration
	IgnoreSystemJobs bool
}

func (a DrainNodes) Mark() string { return a.mark("drains", "drain") }

func (a DrainNodes) Do(s *actions.Stage) error {
	drain := &rpc.DrainStrategy{Deadline: a.Deadline, IgnoreSystemJobs: a.IgnoreSystemJobs}
	return a.each(s, "drain node", func(id string) error { return s.Cluster.DrainNode(s.Ctx, id, drain, false) })
}

// EndDrains ends the drains of nodes, and makes them eligible.
type EndDrains struct {
	request
	Nodes
}

func (a EndDrains) Mark() string { return a.mark("drains no more", "drain no more") }

func (a EndDrains) Do(s *actions.Stage) error {
	return a.each(s, "end the drain of node", func(id string) error { return s.Cluster.DrainNode(s.Ctx, id, nil, true) })
}

func drawDrainNodes(s *draw.Source) draw.Event {
	lines := []string{s.Nodes(), fmt.Sprintf("ignore_system_jobs = %t", s.Chance(1, 3))}
	if s.Chance(4, 5) {
		lines = append(lines, "deadline = "+s.Delay(time.Second, 3*time.Minute))
	}
	return draw.NewEvent("drain_nodes", lines...)
}

func drawEndDrains(s *draw.Source) draw.Event { return draw.NewEvent("end_drains", s.Nodes()) }
