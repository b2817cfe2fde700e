package explore

import (
	"context"
	"errors"
	"sync"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/internal/interleave"
)

// Report is the outcome of a search.
type Report struct {
	Policy string `json:"policy"`
	Bounds Bounds `json:"bounds"`
	interleave.Found
	Violation *Counterexample `json:"violation,omitempty"`
}

// Counterexample is a shortest history that breaks a property.
type Counterexample struct {
	interleave.Counterexample
	// Script is the history as a transcript that the tests of package broker can run.
	Script string `json:"script"`
}

// Run searches all interleavings within the bounds. It calls progress, if that is not nil,
// with the number of states so far, every 16,384 states. The error is that of the bounds or
// of ctx.
func Run(ctx context.Context, p broker.Policy, bounds Bounds, progress func(states int)) (*Report, error) {
	if err := bounds.Check(); err != nil {
		return nil, err
	}
	system := newSystem(p, bounds)
	found, path, wrong, err := interleave.Explore(ctx, system, bounds.MaxStates, progress)
	if err != nil {
		return nil, err
	}
	report := &Report{Policy: p.String(), Bounds: bounds, Found: found}
	if wrong != nil {
		report.Violation = system.replay(path, wrong)
	}
	return report, nil
}

// RunAll runs the search for each policy, all of them at once. Progress, if not nil, is
// called with the index of a policy and the number of its states so far; it may be called
// for several policies at once. If ctx ends, the error is that of ctx alone.
func RunAll(ctx context.Context, policies []broker.Policy, bounds Bounds, progress func(i, states int)) ([]*Report, error) {
	if progress == nil {
		progress = func(int, int) {}
	}
	reports, errs := make([]*Report, len(policies)), make([]error, len(policies))
	var running sync.WaitGroup
	for i, p := range policies {
		running.Go(func() {
			reports[i], errs[i] = Run(ctx, p, bounds, func(states int) { progress(i, states) })
		})
	}
	running.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return reports, errors.Join(errs...)
}
