package operations

import (
	"errors"
	"fmt"
	"math"

	"github.com/simctl/simctl/scenarios/internal/actions"
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
func firstNodes(s *actions.Stage, fraction float64) (ids []string) {
	snap := s.Latest()
	want := int(math.Ceil(fraction * float64(snap.NodeCount())))
	for n := range snap.Nodes() {
		if len(ids) < want {
			ids = append(ids, n.ID)
		}
	}
	return ids
}
