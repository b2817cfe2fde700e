package agenda

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/actions/faults"
	"github.com/simctl/simctl/scenarios/internal/actions/operations"
)

// answers is an action that is answered with one error after the other.
type answers []error

func (*answers) Mark() string { return "" }

func (a *answers) Do(*actions.Stage) error {
	err := (*a)[0]
	*a = (*a)[1:]
	return err
}

// TestAnEventTriedAgainFindsItsJobGone: purged by the first try, whose answer was lost, or by
// another event meanwhile. At the first try it is a mistake in the scenario.
func TestAnEventTriedAgainFindsItsJobGone(t *testing.T) {
	a := New(&actions.Stage{}, 1)
	if got := a.try(step{due: time.Now(), action: &answers{fmt.Errorf("drain node: %w", rpc.ErrNodeNotFound)}}); got.err != nil || !got.again {
		t.Errorf("an event about a node that a stale server does not know: %+v; want it to be tried again", got)
	}
	gone := fmt.Errorf("stop job: %w", rpc.ErrJobNotFound)
	got := a.try(step{due: time.Now(), action: &answers{rpc.ErrUnreachable, gone}})
	if got.err != nil || !got.again {
		t.Fatalf("an event without an answer: %+v; want it to be tried again", got)
	}
	if got = a.try(got.step); got.again || got.err != nil {
		t.Errorf("tried again: %+v; want it to be over", got)
	}
	if got = a.try(step{due: time.Now(), action: &answers{gone}}); !errors.Is(got.err, rpc.ErrJobNotFound) {
		t.Errorf("tried once: error %v, want that the job was not found", got.err)
	}
}

// TestUsersWaitForWhatTheyDidBefore: an event that is tried again is not overtaken by another
// user's, but by faults.
func TestUsersWaitForWhatTheyDidBefore(t *testing.T) {
	start := time.Now()
	after := func(s float64, a actions.Action) step {
		return step{due: start.Add(time.Duration(s * float64(time.Second))), action: a}
	}
	order := func(steps []step) (text string) {
		for _, s := range steps {
			text += fmt.Sprintf("%T at %v; ", s.action, s.due.Sub(start))
		}
		return strings.NewReplacer("faults.", "", "operations.", "").Replace(text)
	}
	steps := []step{after(0.2, operations.RegisterJobs{}), after(0.5, faults.Heal{}), after(0.7, operations.ResumeEvalBroker{}), after(3, operations.DrainNodes{})}
	if got, want := order(putBack(slices.Clone(steps), after(1, operations.StopJob{}))), "Heal at 500ms; StopJob at 1s; RegisterJobs at 1s; ResumeEvalBroker at 1s; DrainNodes at 3s; "; got != want {
		t.Errorf("a user's event is tried again:\n got %s\nwant %s", got, want)
	}
	if got, want := order(putBack(slices.Clone(steps), after(1, faults.KillServer{}))), "RegisterJobs at 200ms; Heal at 500ms; ResumeEvalBroker at 700ms; KillServer at 1s; DrainNodes at 3s; "; got != want {
		t.Errorf("a fault is tried again:\n got %s\nwant %s", got, want)
	}
}
