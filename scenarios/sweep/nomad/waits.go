package nomad

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/nomad/api"
)

// tellWaiting tells Config.Waits why a job is not placed, if the scheduler has tried. A cell
// may wait for others to end, or for ever: people have to judge that.
func (n *Executor) tellWaiting(ctx context.Context, id string) error {
	evals, _, err := n.client.Jobs().Evaluations(id, (&api.QueryOptions{}).WithContext(ctx))
	if err != nil {
		return err
	}
	evals = slices.DeleteFunc(evals, func(e *api.Evaluation) bool { return len(e.FailedTGAllocs) == 0 })
	if len(evals) == 0 {
		return nil
	}
	newest := slices.MaxFunc(evals, func(a, b *api.Evaluation) int { return cmp.Compare(a.CreateIndex, b.CreateIndex) })
	for _, m := range newest.FailedTGAllocs { // there is one group
		why := whyUnplaced(m)
		if _, told := n.told.LoadOrStore(why, true); !told {
			n.cfg.Waits(why)
		}
	}
	return nil
}

// whyUnplaced words what the scheduler found. It leaves out how many nodes it found so, since
// that changes all the time.
func whyUnplaced(m *api.AllocationMetric) string {
	var parts []string
	for _, dc := range slices.Sorted(maps.Keys(m.NodesAvailable)) {
		if m.NodesAvailable[dc] == 0 {
			parts = append(parts, fmt.Sprintf("no node of datacenter %q is ready", dc))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.ConstraintFiltered)) {
		parts = append(parts, "nodes are ruled out by "+name)
	}
	for _, name := range slices.Sorted(maps.Keys(m.DimensionExhausted)) {
		parts = append(parts, "nodes have no "+name+" left")
	}
	if len(parts) == 0 {
		return "no node can take it"
	}
	return strings.Join(parts, ", ")
}
