package reports

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/simctl/simctl/metrics"
)

func TestPlan(t *testing.T) {
	columns := func(simulated *metrics.Result) []PlanColumn {
		var out []PlanColumn
		for i, b := range []string{"legacy", "shedding"} {
			out = append(out, PlanColumn{Broker: b, Simulated: simulated, Figures: []PlanFigure{
				{Path: "phases.register.evals_created", Formula: "N·S", Estimate: 2000},
				{Path: "phases.drain.recovery_s", Formula: []string{"E/r", "c·I, and so on: as fast as workers go until the last node is down, and then no more"}[i], Estimate: []float64{4005, 12}[i]},
			}})
		}
		return out
	}
	run := synthetic{nodes: 200, seed: 1, rate: 20}.result(t)
	p := Plan{
		Title: "On paper: a storm", CheckTitle: "Checked by simulation: a small one", Asked: columns(nil), Checked: columns(run),
		Inputs: []PlanInput{{"N", "nodes", "", 8000}, {"T", "one evaluation", "s", 0.2401}},
	}
	bounds := func(nodes, jobs, schedulers [2]float64) []PlanBound {
		bound := func(setting string, least bool, of [2]float64) PlanBound {
			b := PlanBound{Setting: setting, Asked: 8000, Least: least, Min: 1, Max: 10_000}
			if of[0] > 0 {
				b.Low, b.High = &of[0], &of[1]
			}
			switch {
			case of[0] == 0:
				b.Extreme = &PlanExtreme{At: 40, Value: 1200, Figure: "phases.storm.recovery_s", Part: 1111, For: "until the last node is noticed", Same: true}
			case of == [2]float64{1, 10_000}:
				b.Extreme = &PlanExtreme{At: 10_000, Value: 299}
			}
			return b
		}
		return []PlanBound{bound("nodes", false, nodes), bound("system_jobs", false, jobs), bound("schedulers", true, schedulers)}
	}
	p.Limits = []PlanLimit{{Limit: "recovery_s<=300", Path: "totals.recovery_s", Brokers: []PlanWithin{
		{Broker: "legacy", Estimate: 4005, Bounds: bounds([2]float64{1, 1234}, [2]float64{}, [2]float64{4, 10_000})},
		{Broker: "shedding", Estimate: 12, OK: true, Bounds: bounds([2]float64{1, 10_000}, [2]float64{6, 71}, [2]float64{4, 8})},
	}}}
	var out bytes.Buffer
	if err := PlanTable(&out, p); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(out.String()) {
		if utf8.RuneCountInString(line) > tableWidth+1 {
			t.Errorf("wider than %d columns: %s", tableWidth, line)
		}
	}
	out.WriteString("----\n")
	if err := PlanJSON(&out, p); err != nil {
		t.Fatal(err)
	}
	golden(t, "plan.golden", out.Bytes())
	_, text, _ := strings.Cut(out.String(), "----\n")
	var back Plan
	if err := json.Unmarshal([]byte(text), &back); err != nil || *back.Checked[0].Figures[0].Simulated != 2000 {
		t.Errorf("the JSON reads as %+v (%v)", back, err)
	}
	p.Checked[0].Figures[0].Path = "phases.boot.evals_created"
	if err := PlanTable(&out, p); err == nil {
		t.Error("a figure that the run has not is no error")
	}
}
