package scenarios

import (
	"testing"
	"time"

	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/actions/faults"
	"github.com/simctl/simctl/scenarios/internal/run"
)

// TestFaultsInsideServers: a storm during which workers crash and the leader's applier
// sticks ends as it should, later.
func TestFaultsInsideServers(t *testing.T) {
	spec := small("shedding")
	sc, err := scenarioOf(spec)
	if err != nil {
		t.Fatal(err)
	}
	drain := &sc.Phases[1]
	drain.Events = append([]run.Event{
		{Action: faults.CrashWorkers{Evals: 1}},
		{Action: faults.StickApplier{Server: faults.Leader, For: 2 * time.Minute}},
	}, drain.Events...)
	res, err := run.Run(t.Context(), sc, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, inv := range res.Invariants {
		if !inv.OK {
			t.Errorf("%s: %s", inv.Name, inv.Detail)
		}
	}
	p := res.Phase(drain.Name)
	if took := p.EndS - p.StartS; took < 120 {
		t.Errorf("the phase took %.0f s, want at least the two minutes that no plan was applied", took)
	}
	if rest := p.Unexplained(); len(rest) > 0 {
		t.Errorf("entries that no event explains: %v", rest)
	}
	for _, a := range []actions.Checker{faults.CrashWorkers{}, faults.CrashWorkers{Servers: faults.Servers{9}, Evals: 1}, faults.StickApplier{Server: 9}, faults.StickApplier{For: -1}} {
		if a.Check(3) == nil {
			t.Errorf("%+v was accepted", a)
		}
	}
}
