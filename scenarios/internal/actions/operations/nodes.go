package operations

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/behaviours"
	"github.com/simctl/simctl/scenarios/internal/draw"
	"github.com/simctl/simctl/scenarios/internal/english"
)

// Nodes are the nodes that an operator means: those of a Group, as it is when the event
// comes, or a Fraction of all nodes, the first in the order of their IDs, which are random.
type Nodes struct {
	Group    string  `lang:"ref=group"`
	Fraction float64 `lang:"max=1"`
}

func (n Nodes) Check(int) error {
	if (n.Group == "") == (n.Fraction == 0) {
		return errors.New("it must say which nodes: a group, or a fraction of all")
	}
	return nil
}

// Disturbs returns how many nodes are meant: all jobs on them are evaluated.
func (n Nodes) Disturbs(groups []behaviours.Group) float64 {
	if n.Group != "" {
		return float64(behaviours.Nodes(groups, n.Group))
	}
	return n.Fraction * float64(behaviours.Nodes(groups, ""))
}

// mark says what the nodes do, with the verb for one group and for several nodes.
func (n Nodes) mark(groupDoes, nodesDo string) string {
	if n.Group != "" {
		return fmt.Sprintf("group %s %s", n.Group, groupDoes)
	}
	return fmt.Sprintf("%s %s", shareOfNodes(n.Fraction), nodesDo)
}

func shareOfNodes(f float64) string { return fmt.Sprintf("%g%% of the nodes", f*100) }

// each calls ask for every node that is meant.
func (n Nodes) each(s *actions.Stage, what string, ask func(id string) error) error {
	ids := firstNodes(s, n.Fraction)
	if n.Group != "" {
		ids = s.Fleet.IDsInGroup(n.Group)
	}
	for _, id := range ids {
		if err := named(ask(id), what, id); err != nil {
			return err
		}
	}
	return nil
}

// firstNodes returns the IDs of the first of all nodes.
func firstNodes(s *actions.Stage, fraction float64) []string {
	all := s.Cluster.NodeIDs()
	return all[:min(int(math.Ceil(fraction*float64(len(all)))), len(all))]
}

var (
	_ = actions.RegisterAction("drain_nodes", DrainNodes{}, actions.Drawn(actions.OfOperators, 1, 2, drawDrainNodes))
	_ = actions.RegisterAction("end_drains", EndDrains{}, actions.Drawn(actions.OfOperators, 2, 1, drawEndDrains))
)

// DrainNodes drains nodes, one call after the other.
type DrainNodes struct {
	request
	actions.Anywhere
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
	actions.Anywhere
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

var _ = actions.RegisterAction("set_eligibility", SetEligibility{}, actions.Drawn(actions.OfOperators, 3, 1, drawSetEligibility).Unless(
	func(e draw.Event, _, all []draw.Event) bool { // a node that drains
		return e.Says("eligible = true") && draw.Has(all, "drain_nodes")
	}))

// SetEligibility says whether schedulers may place on nodes.
type SetEligibility struct {
	request
	actions.Anywhere
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
	return s.Simulated.EmitNodeEvents(s.Ctx, ids, a.Events, cmp.Or(a.Message, "Driver health changed"))
}

func drawNodeEvents(s *draw.Source) draw.Event {
	return draw.NewEvent("node_events", "fraction = "+s.Between(0.05, 1), fmt.Sprintf("events = %d", 1+s.Rand.IntN(12)))
}
