package operations

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/actions"
)

// Ways of deleting evaluations.
const (
	ByID     = "id"     // a call for each
	ByPage   = "page"   // a call for as many IDs as the command of Nomad 1.4.2 sends at a time
	ByFilter = "filter" // one call; the leader looks for what matches
)

// evalPage is that number: three pages of 2,426 evaluations (command/eval_delete.go, v1.4.2).
const evalPage = 3 * 2426

var _ = actions.RegisterAction("delete_evals", DeleteEvals{By: ByFilter, Status: broker.StatusPending}, actions.Soak{})

// DeleteEvals deletes evaluations of a Status while the broker is paused.
type DeleteEvals struct {
	request
	By          string `lang:"oneof=id|page|filter"`
	Status      string `lang:"oneof=pending|blocked|complete|failed|canceled"`
	TriggeredBy string // empty = whatever created them
	Count       int    // zero = all
}

func (a DeleteEvals) Mark() string {
	what := "all"
	if a.Count > 0 {
		what = fmt.Sprint(a.Count)
	}
	return fmt.Sprintf("%s %s evaluations are deleted by %s", what, a.Status, a.By)
}

func (a DeleteEvals) Do(s *actions.Stage) error {
	if a.By == ByFilter {
		left := cmp.Or(a.Count, -1)
		return a.delete(s, nil, func(e *broker.Evaluation) bool {
			if left == 0 || !a.matches(e) {
				return false
			}
			left--
			return true
		})
	}
	size := 1
	if a.By == ByPage {
		size = evalPage
	}
	ids, err := a.ids(s)
	if err != nil {
		return err
	}
	for page := range slices.Chunk(ids, size) {
		if err := a.delete(s, page, nil); err != nil {
			return err
		}
	}
	return nil
}

// ids returns the IDs of the evaluations as the leader lists them.
func (a DeleteEvals) ids(s *actions.Stage) ([]string, error) {
	leader := s.Cluster.Leader()
	if leader < 0 {
		return nil, fmt.Errorf("list evaluations to delete: %w", rpc.ErrNoLeader)
	}
	var ids []string
	for e := range s.Simulated.State(leader).Snapshot().Evals() {
		if a.matches(e) && (a.Count == 0 || len(ids) < a.Count) {
			ids = append(ids, e.ID)
		}
	}
	return ids, nil
}

func (a DeleteEvals) matches(e *broker.Evaluation) bool {
	return e.Status == a.Status && (a.TriggeredBy == "" || e.TriggeredBy == a.TriggeredBy)
}

func (a DeleteEvals) delete(s *actions.Stage, ids []string, matches func(*broker.Evaluation) bool) error {
	_, _, err := s.Simulated.DeleteEvals(s.Ctx, ids, matches)
	if err != nil {
		return fmt.Errorf("delete evaluations by %s: %w", a.By, err)
	}
	return nil
}
