package scenarios

import (
	"strings"
	"testing"
)

// FuzzOrder: whatever a parent writes as the Spec of a run, the child runs it or says what is
// wrong with it.
func FuzzOrder(f *testing.F) {
	for _, spec := range []Spec{
		{Scenario: "heartbeat-storm", Broker: "legacy", Seed: 1},
		{Scenario: "mine", File: "mine.hcl", Source: profilesText, Broker: "shedding"},
	} {
		f.Add(jsonOf(f, spec))
	}
	f.Add(`{"scenario":"heartbeat-storm","broker":"shedding","vars":{"nodes":"1e9"},"limits":{}}`)
	f.Fuzz(func(t *testing.T, text string) {
		what, err := readOrder(strings.NewReader(text))
		if err != nil {
			return
		}
		again, err := readOrder(strings.NewReader(jsonOf(t, what)))
		if err != nil || jsonOf(t, again) != jsonOf(t, what) {
			t.Errorf("it is written and read as %+v (%v)", again, err)
		}
		// A Spec that names files reads them, which is no matter of its text.
		if what.Cost = ""; what.Source == "" {
			what.File = ""
		}
		if sc, err := scenarioOf(what.Spec); err == nil && (sc.Fleet.Nodes < 1 || len(sc.Phases) == 0) {
			t.Errorf("half a scenario: %+v", sc)
		}
	})
}
