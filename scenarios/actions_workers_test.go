package scenarios

import (
	"testing"
	"time"
)

// TestFaultsInsideServers: a storm during which workers crash and the leader's applier
// sticks ends as it should, later.
func TestFaultsInsideServers(t *testing.T) {
	spec := small("shedding")
	sc, err := spec.scenario()
	if err != nil {
		t.Fatal(err)
	}
	drain := &sc.Phases[1]
	drain.Events = append([]Event{
		{Action: CrashWorkers{Evals: 1}},
		{Action: StickApplier{Server: Leader, For: 2 * time.Minute}},
	}, drain.Events...)
	res, err := runScenario(t.Context(), spec, sc, nil)
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
	for _, a := range []checkable{CrashWorkers{}, CrashWorkers{Servers: []Server{9}, Evals: 1}, StickApplier{Server: 9}, StickApplier{For: -1}} {
		if a.check(3) == nil {
			t.Errorf("%+v was accepted", a)
		}
	}
}
