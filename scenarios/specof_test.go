package scenarios

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/simctl/simctl/metrics"
)

// TestSpecOf: a simulation of a real run has its parameters, as that run's own Result would tell.
func TestSpecOf(t *testing.T) {
	spec := Spec{Scenario: "heartbeat-storm", Seed: 7}
	spec.Set("nodes", 20)
	spec.Set("servers", 1)
	spec.Set("fraction", 0.5)
	spec.Set("report_allocations", false)
	spec.Set("min_heartbeat_ttl_s", 5.0)
	c, err := Compile(spec)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(c.realLabel(Real{Name: "nomad-1.4.3", Version: "1.4.3", Bin: "nomad"}))
	if err != nil {
		t.Fatal(err)
	}
	var label metrics.Run // as it is read from a file
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.UseNumber()
	if err := dec.Decode(&label); err != nil {
		t.Fatal(err)
	}
	got, err := SpecOf(&metrics.Result{Run: label}, Spec{Cost: "loopback"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := Compile(got)
	if err != nil {
		t.Fatal(err)
	}
	if got.Broker != "1.4.3" || got.Seed != 7 || got.Cost != "loopback" {
		t.Errorf("got %+v", got)
	}
	for name, want := range c.label().Params {
		if have := again.label().Params[name]; have != want && name != "cost" && name != "release" {
			t.Errorf("%s is %v, want %v", name, have, want)
		}
	}
}

// TestSpecOfReports: whether clients report is as in the real run, also where a scenario leaves it to the class of
// machines, which loopback's does not want.
func TestSpecOfReports(t *testing.T) {
	for _, reports := range []bool{true, false} {
		run := metrics.Run{Scenario: "decommission", Broker: "nomad-1.4.3", Target: "1.4.3", Params: map[string]any{"report_allocations": reports}}
		spec, err := SpecOf(&metrics.Result{Run: run}, Spec{Cost: "loopback"})
		if err != nil {
			t.Fatal(err)
		}
		c, err := Compile(spec)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.label().Params["report_allocations"]; got != reports {
			t.Errorf("clients report in the simulation: %v, want %v", got, reports)
		}
	}
}

func TestSpecOfRefuses(t *testing.T) {
	for _, c := range []struct {
		run  metrics.Run
		want string
	}{
		{metrics.Run{Scenario: "heartbeat-storm", Broker: "legacy", Target: "simulated"}, `its target is "simulated"`},
		{metrics.Run{Scenario: "mine", Broker: "nomad-1.4.3", Target: "1.4.3"}, "name its file by --scenario"},
	} {
		_, err := SpecOf(&metrics.Result{Run: c.run}, Spec{})
		var input *InputError
		if !errors.As(err, &input) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.run, err, c.want)
		}
	}
}

// TestSpecOfCosts: what a simulation charges is what the release costs, unless somebody says otherwise.
func TestSpecOfCosts(t *testing.T) {
	for _, c := range []struct{ release, cost, want string }{
		{"1.4.2", "", "loopback"},
		{"1.4.3", "", "loopback"},
		{"2.0.4", "", "loopback"},
		{"2.0.5", "", "loopback-2.0.5"},
		{"2.0.5", "loopback", "loopback"},
	} {
		run := metrics.Run{Scenario: "heartbeat-storm", Target: c.release}
		spec, err := SpecOf(&metrics.Result{Run: run}, Spec{Cost: c.cost})
		if err != nil {
			t.Fatal(err)
		}
		if spec.Cost != c.want {
			t.Errorf("%s with --cost %q is charged %s, want %s", c.release, c.cost, spec.Cost, c.want)
		}
	}
}
