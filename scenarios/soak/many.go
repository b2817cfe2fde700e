package soak

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/simctl/simctl/metrics"
)

// Side returns how many schedules of so many runs go on side by side for every core to have work: a
// run uses one, and those of a schedule end at different times.
func Side(runs int) int { return max(1, (runtime.NumCPU()+runs)/runs) }

// Each checks schedules, side of them at a time, until next has no more. It hands what was found to
// tell in the order of the schedules, and ends when tell reports false. The error is the first of
// check; schedules that were under way are then given up.
func Each(ctx context.Context, side int, next func() (Schedule, bool), check func(context.Context, Schedule) (Finding, error), tell func(Finding) (goOn bool)) error {
	ctx, cancel := context.WithCancel(ctx)
	var under sync.WaitGroup
	defer under.Wait()
	defer cancel()
	type answer struct {
		Finding
		err error
	}
	var queue []chan answer
	working := make(chan struct{}, side)
	for more := true; ; {
		// A schedule that takes long must not leave cores idle that could go on with later ones.
		for more && len(queue) < 4*side {
			var s Schedule
			if s, more = next(); !more {
				break
			}
			done := make(chan answer, 1)
			queue = append(queue, done)
			under.Go(func() {
				working <- struct{}{}
				defer func() { <-working }()
				var a answer
				if a.err = context.Cause(ctx); a.err == nil {
					a.Finding, a.err = check(ctx, s)
				}
				done <- a
			})
		}
		if len(queue) == 0 {
			return nil
		}
		a := <-queue[0]
		queue = queue[1:]
		if a.err != nil {
			return a.err
		}
		if !tell(a.Finding) {
			return nil
		}
	}
}

// reached names the states that a run came to: what happened, as the account of its log says, what
// there was of anything at some time, and how evaluations ended.
func reached(res *metrics.Result) []string {
	var states []string
	for _, e := range res.Totals.RaftAccount {
		if e.Entries != 0 {
			states = append(states, e.Event)
		}
	}
	for _, s := range res.Series {
		if len(s.Value) > 0 && slices.Max(s.Value) > 0 {
			states = append(states, fmt.Sprintf("series %s above zero", s.Name))
		}
	}
	for _, status := range slices.Sorted(maps.Keys(res.Totals.EvalsByStatus)) {
		states = append(states, fmt.Sprintf("evaluations %s at the end", status))
	}
	return states
}
