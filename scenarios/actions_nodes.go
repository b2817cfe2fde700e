package scenarios

import (
	"fmt"
	"math"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
)

// Actions of operators on nodes: on those named in Nodes or, when none is, on a Fraction
// of all nodes, the first in the order of their IDs, which are random.
type (
	// DrainNodes drains nodes, one call after the other.
	DrainNodes struct {
		Nodes    []string
		Fraction float64
		// Deadline is how long allocations may take to move; zero means as long as it takes,
		// a negative one stops them at once.
		Deadline         time.Duration
		IgnoreSystemJobs bool
	}
	// EndDrains ends the drains of nodes, and makes them eligible.
	EndDrains struct {
		Nodes    []string
		Fraction float64
	}
	// NodeEvents makes something happen on nodes that their clients have to report: Events
	// events on each, which a client sends 5 to 10 s later in one call.
	NodeEvents struct {
		Nodes    []string
		Fraction float64
		Events   int
		Message  string // empty = "Driver health changed"
	}
	// SetEligibility says whether schedulers may place on nodes.
	SetEligibility struct {
		Nodes    []string
		Fraction float64
		Eligible bool
	}
)

func (a DrainNodes) Mark() string { return nodesText(a.Nodes, a.Fraction) + " drain" }

func (a DrainNodes) do(r *run) error {
	drain := &rpc.DrainStrategy{Deadline: r.sc.scaleOf(a.Deadline), IgnoreSystemJobs: a.IgnoreSystemJobs}
	return r.eachNode("drain node", a.Nodes, a.Fraction, func(id string) error {
		return r.cluster.DrainNode(r.ctx, id, drain, false)
	})
}

func (a EndDrains) Mark() string { return nodesText(a.Nodes, a.Fraction) + " drain no more" }

func (a EndDrains) do(r *run) error {
	return r.eachNode("end the drain of node", a.Nodes, a.Fraction, func(id string) error {
		return r.cluster.DrainNode(r.ctx, id, nil, true)
	})
}

func (a NodeEvents) Mark() string {
	return fmt.Sprintf("%s on %s", plural(a.Events, "event"), nodesText(a.Nodes, a.Fraction))
}

func (a NodeEvents) do(r *run) error {
	message := a.Message
	if message == "" {
		message = "Driver health changed"
	}
	return r.cluster.EmitNodeEvents(r.ctx, r.pickNodes(a.Nodes, a.Fraction), a.Events, message)
}

func (a SetEligibility) Mark() string {
	if a.Eligible {
		return nodesText(a.Nodes, a.Fraction) + " become eligible"
	}
	return nodesText(a.Nodes, a.Fraction) + " become ineligible"
}

func (a SetEligibility) do(r *run) error {
	return r.eachNode("set eligibility of node", a.Nodes, a.Fraction, func(id string) error {
		return r.cluster.SetEligibility(r.ctx, id, a.Eligible)
	})
}

func nodesText(ids []string, fraction float64) string {
	if len(ids) > 0 {
		return plural(len(ids), "node")
	}
	return fmt.Sprintf("%g%% of the nodes", fraction*100)
}

// pickNodes returns the IDs of the nodes that an action means.
func (r *run) pickNodes(ids []string, fraction float64) []string {
	if len(ids) > 0 {
		return ids
	}
	snap := r.leaderState()
	want := int(math.Ceil(fraction * float64(snap.NodeCount())))
	for n := range snap.Nodes() {
		if len(ids) < want {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// eachNode calls do for the nodes that an action means.
func (r *run) eachNode(what string, ids []string, fraction float64, do func(id string) error) error {
	for _, id := range r.pickNodes(ids, fraction) {
		if err := named(do(id), what, id); err != nil {
			return err
		}
	}
	return nil
}
