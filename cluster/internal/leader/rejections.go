package leader

import (
	"slices"
	"time"

	"github.com/simctl/simctl/cluster/internal/config"
)

// How many nodes are tracked, and how many may be marked ineligible: a burst, and then one
// every so often (nomad/plan_apply_node_tracker.go, DefaultCachedBadNodeTrackerConfig).
const (
	trackedNodes     = 50
	ineligibleBurst  = 10
	ineligiblePeriod = 30 * time.Minute / 5
)

// Rejections counts the refusals of nodes. It belongs to the plan applier's
// goroutine and outlives a leadership.
type Rejections struct {
	cfg config.PlanRejectionConfig
	// nodes are those refused last, the latest at the end. Nomad's cache also weighs how
	// often a node was refused when it drops one.
	nodes []rejectedNode
	// tokens is how many nodes may be marked as of filled.
	tokens float64
	filled time.Time
}

type rejectedNode struct {
	id      string
	history []time.Time // within the window, the oldest first
}

// NewRejections returns a tracker that has seen nothing.
func NewRejections(cfg config.PlanRejectionConfig) *Rejections {
	return &Rejections{cfg: cfg, tokens: ineligibleBurst}
}

// Add counts a refusal and reports whether the node is to be marked as ineligible.
func (t *Rejections) Add(now time.Time, id string) bool {
	if !t.cfg.Enabled {
		return false
	}
	n := rejectedNode{id: id}
	if at := slices.IndexFunc(t.nodes, func(n rejectedNode) bool { return n.id == id }); at >= 0 {
		n = t.nodes[at]
		t.nodes = slices.Delete(t.nodes, at, at+1)
	} else if len(t.nodes) == trackedNodes {
		t.nodes = slices.Delete(t.nodes, 0, 1)
	}
	start := now.Add(-t.cfg.Window)
	n.history = slices.DeleteFunc(append(n.history, now), func(at time.Time) bool { return at.Before(start) })
	t.nodes = append(t.nodes, n)
	return len(n.history) >= t.cfg.Threshold && t.take(now)
}

// take takes a token if there is one.
func (t *Rejections) take(now time.Time) bool {
	if !t.filled.IsZero() {
		t.tokens = min(ineligibleBurst, t.tokens+float64(now.Sub(t.filled))/float64(ineligiblePeriod))
	}
	t.filled = now
	if t.tokens < 1 {
		return false
	}
	t.tokens--
	return true
}
