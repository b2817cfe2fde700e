package operations

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

// Ways of deleting evaluations.
const (
	ByID     = "id"     // a call for each
	ByPage   = "page"   // a call for as many IDs as the command of Nomad 1.4.2 sends at a time
	ByFilter = "filter" // one call; the leader looks for what matches
)

// evalPage is that number: three pages of 2,426 evaluations (command/eval_delete.go, v1.4.2).
const evalPage = 3 * 2426

var _ = actions.RegisterAction("delete_evals", DeleteEvals{By: ByFilter, Status: broker.StatusPending},
	actions.Drawn(actions.OfOperators, 8, 1, drawDeleteEvals).Unless(
		// Of a job that is purged nobody is left to evaluate: what it runs would go on for ever.
		func(_ draw.Event, _, all []draw.Event) bool {
			return slices.ContainsFunc(all, func(e draw.Event) bool { return e.Says("purge = true") })
		}))

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

// drawDeleteEvals deletes evaluations by filter. By ID, one that something of is running by then is
// refused, which hangs on the moment. All jobs are evaluated in the end, so that what was deleted is
// not missed.
func drawDeleteEvals(s *draw.Source) draw.Event {
	over := []string{broker.StatusComplete, broker.StatusFailed, broker.StatusCanceled}
	e := draw.NewEvent("delete_evals", fmt.Sprintf("status = %q", s.Pick(over...)))
	if !s.Collects && s.Chance(3, 4) { // else the job may be collected meanwhile
		e.Lines = []string{fmt.Sprintf("status = %q", s.Pick(broker.StatusPending, broker.StatusPending, broker.StatusBlocked))}
	}
	if s.Chance(1, 3) {
		e.Lines = append(e.Lines, fmt.Sprintf("count = %d", 1+s.Rand.IntN(20)))
	}
	e.First = []string{"pause_eval_broker"}
	e.End = "  event \"evaluate_jobs\" {\n    at = \"6m20s\"\n  }\n\n"
	return e
}
