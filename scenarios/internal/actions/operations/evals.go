package operations

import (
	"errors"
	"fmt"
	"slices"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
)

// Ways of deleting evaluations.
const (
	byID     = "id"     // a call for each
	byPage   = "page"   // a call for as many IDs as the command of Nomad 1.4.2 sends at a time
	byFilter = "filter" // one call; the leader looks for what matches
)

// evalPage is how many IDs that command sends at a time: three pages of 2,426 evaluations (command/eval_delete.go,
// v1.4.2).
const evalPage = 3 * 2426

var _ = actions.RegisterAction("delete_evals", DeleteEvals{By: byFilter, Status: broker.StatusPending},
	actions.Drawn(actions.OfOperators, 8, 1, drawDeleteEvals).Unless(
		// A purged job is not evaluated again. If the evaluation of its purge is deleted, its allocations run for ever.
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

// On returns an error if the target cannot be told what to delete.
func (a DeleteEvals) On(t actions.Target) error {
	switch {
	case t.Foreign:
		return errOfOthers
	case a.By == byFilter && !t.DeletesByFilter:
		return fmt.Errorf("%s deletes evaluations by their IDs only", t.Name)
	case a.By == byFilter && a.Count > 0:
		return fmt.Errorf("%s deletes all that match a filter: leave count out, or delete by %s", t.Name, byPage)
	}
	return nil
}

// errOfOthers refuses what cannot be kept to the evaluations, jobs and nodes of a run.
var errOfOthers = errors.New("it would delete what is of others")

func (a DeleteEvals) Do(s *actions.Stage) error {
	if err := a.delete(s); err != nil {
		return fmt.Errorf("delete evaluations by %s: %w", a.By, err)
	}
	return nil
}

func (a DeleteEvals) delete(s *actions.Stage) error {
	if a.By == byFilter {
		return s.Cluster.DeleteEvals(s.Ctx, a.Status, a.TriggeredBy, a.Count, nil)
	}
	size := 1
	if a.By == byPage {
		size = evalPage
	}
	ids, err := s.Cluster.EvalIDs(s.Ctx, a.Status, a.TriggeredBy, a.Count)
	if err != nil {
		return err
	}
	for page := range slices.Chunk(ids, size) {
		if err := s.Cluster.DeleteEvals(s.Ctx, a.Status, a.TriggeredBy, a.Count, page); err != nil {
			return err
		}
	}
	return nil
}

// drawDeleteEvals deletes evaluations by filter. By ID, deletion is refused if one of the evaluations has an
// allocation that runs, which depends on the exact moment. In the end all jobs are evaluated again, in place of
// the evaluations that were deleted.
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
