package main

import (
	"strings"
	"testing"

	"github.com/simctl/simctl/metrics/agreement"
)

// figureOf returns a figure whose runs all say the same.
func figureOf(metric, unit string, real, simulated float64) agreement.Row {
	off := simulated/real - 1
	return agreement.Row{
		Metric: metric, Unit: unit, Deviation: &off, Within: real == simulated,
		Real: agreement.Range{Median: real, Low: real, High: real}, Simulated: agreement.Range{Median: simulated, Low: simulated, High: simulated},
	}
}

// TestScore: each figure counts for the goal it belongs to, and those that miss it are listed.
func TestScore(t *testing.T) {
	const plans = "raft_entries_by_type.ApplyPlanResultsRequestType"
	spread := figureOf(plans, "entries", 100, 150)
	spread.Within = true
	r := &agreement.Report{Phases: []agreement.Phase{
		{Name: "drain", Rows: []agreement.Row{
			figureOf("duration_s", "s", 100, 109),
			figureOf("recovery_s", "s", 100, 111),
			figureOf(plans, "entries", 10, 15),
			figureOf(plans, "entries", 10, 16),
			figureOf("raft_entries", "entries", 10000, 10099),
			figureOf("raft_entries", "entries", 10000, 10101),
		}},
		{Name: "storm", Rows: []agreement.Row{
			figureOf(plans, "entries", 1000, 1049),
			figureOf(plans, "entries", 1000, 1051),
			figureOf("raft_entries", "entries", 1000, 2000), // a sum: the types say more
			figureOf(agreement.CoresBusy, "s", 10, 15),      // no time at which something happens
			spread,
		}},
	}}
	var p page
	p.score([]group{{machine: 1, name: "1.4.3", Report: r}, {machine: 0, name: "1.4.2", Report: r}}, []byte("- Chance.\n"))
	text := p.String()
	for _, want := range []string{
		"| Real servers | 2 of 4 | 2 of 3 | 1 of 2 |\n",
		"| Real servers on a second machine | 2 of 4 | 2 of 3 | 1 of 2 |\n",
		"| Real servers that were asked every second | 0 of 0 | 0 of 0 | 0 of 0 |\n",
		"| 1.4.2 | drain | entries ApplyPlanResults | 10 | 16 | +60.0% | - |\n",
		"| 1.4.3 | drain | Raft entries | 10,000 | 10,101 | +1.0% | - |\n",
		"| 1.4.3 | storm | entries ApplyPlanResults | 1,000 | 1,051 | +5.1% | -25% |\n",
		"| 1.4.3 | drain | recovery | 100.0 s | 111.0 s | +11.0% | - |\n",
		"### Why figures miss\n\n- Chance.\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if n := strings.Count(text, "%"); n != 3+2*5 { // in the headings and the rows
		t.Errorf("the page has %d percentages, and not only those of what misses:\n%s", n, text)
	}
}
