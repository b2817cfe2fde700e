package reports

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/simctl/simctl/metrics"
)

func TestPlan(t *testing.T) {
	columns := func(simulated *metrics.Result) []PlanColumn {
		var out []PlanColumn
		for i, b := range []string{"legacy", "shedding"} {
			out = append(out, PlanColumn{Broker: b, Simulated: simulated, Figures: []PlanFigure{
				{Path: "phases.register.evals_created", Formula: "N·S", Estimate: 2000},
				{Path: "phases.drain.recovery_s", Formula: []string{"E/r", "c·I"}[i], Estimate: []float64{4005, 12}[i]},
			}})
		}
		return out
	}
	run := synthetic{nodes: 200, seed: 1, rate: 20}.result(t)
	p := Plan{
		Title: "On paper: a storm", CheckTitle: "Checked by simulation: a small one", Asked: columns(nil), Checked: columns(run),
		Inputs: []PlanInput{{"N", "nodes", "", 8000}, {"T", "one evaluation", "s", 0.2401}},
	}
	var out bytes.Buffer
	if err := PlanTable(&out, p); err != nil {
		t.Fatal(err)
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
