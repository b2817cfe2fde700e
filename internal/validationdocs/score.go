package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/simctl/simctl/metrics/agreement"
	"github.com/simctl/simctl/reports"
	"github.com/simctl/simctl/reports/wording"
)

// goal says how near the simulated figure must be to the real one, and for which figures. If the ranges of both meet, the
// figure is near enough, however far apart the medians are.
type goal struct {
	name string
	of   func(phase string, row agreement.Row) bool
	// The simulated median may deviate by the share off, or by so much in the figure's unit.
	off, by float64
}

// isTime reports whether a figure is a time at which something happened.
func isTime(row agreement.Row) bool { return row.Unit == "s" && row.Metric != agreement.CoresBusy }

// isByType reports whether a figure counts the entries of one type.
func isByType(row agreement.Row) bool {
	return strings.HasPrefix(row.Metric, "raft_entries_by_type.")
}

// quiet are the phases whose counts hardly depend on time.
var quiet = []string{"register", "drain"}

var goals = []goal{
	{"counts of register and drain (within 1%, or at most 5 apart)", func(phase string, row agreement.Row) bool {
		return row.Unit != "s" && slices.Contains(quiet, phase)
	}, 0.01, 5},
	{"entries by type of the other phases (within 5%)", func(phase string, row agreement.Row) bool {
		return isByType(row) && !slices.Contains(quiet, phase)
	}, 0.05, 0},
	{"times (within 10%)", func(_ string, row agreement.Row) bool { return isTime(row) }, 0.10, 0},
}

// met reports whether a figure is as near as its goal wants it.
func (g goal) met(row agreement.Row) bool {
	return row.Within || row.Deviation != nil && math.Abs(*row.Deviation) <= g.off ||
		math.Abs(row.Simulated.Median-row.Real.Median) <= g.by
}

// judge counts the figures of a machine's runs that the goal is about, and those of them that meet it, and returns rows for the others.
func (g goal) judge(all []group, machine int) (met, of int, missed []string) {
	for _, group := range all {
		if group.machine != machine {
			continue
		}
		for _, phase := range group.Phases {
			for _, row := range phase.Rows {
				if !g.of(phase.Name, row) {
					continue
				}
				of++
				if g.met(row) {
					met++
				} else {
					missed = append(missed, miss(group.name, phase, row))
				}
			}
		}
	}
	return met, of, missed
}

// score counts the figures that are near enough, by machine, and lists those that are not, with what is known of the reasons.
func (p *page) score(all []group, why []byte) {
	p.WriteString("## How near it is\n\n" +
		"How many figures of the runs [below](#real-servers) are near enough, and of how many. A figure is near enough if the ranges of both sides meet, or if the medians are as close as its heading says:\n\n|")
	var missed []string
	for _, g := range goals {
		p.WriteString(" | " + g.name)
	}
	p.WriteString(" |\n|---" + strings.Repeat("|---:", len(goals)) + "|\n")
	for i, machine := range machines {
		fmt.Fprintf(p, "| %s |", machine.heading)
		for _, g := range goals {
			met, of, others := g.judge(all, i)
			fmt.Fprintf(p, " %d of %d |", met, of)
			missed = append(missed, others...)
		}
		p.WriteString("\n")
	}
	p.WriteString("\nThe others, and how much longer the simulated cores work for an entry of the phase, where real runs say how long theirs did. Where they work less, the " +
		"machine was slower than its costs say:\n\n| run | phase | figure | real | simulated | deviation | cores |\n|---|---|---|---:|---:|---:|---:|\n" +
		strings.Join(missed, "") + "\n")
	fmt.Fprintf(p, "### Why figures miss\n\n%s\n", why)
}

// miss is the row of a figure that is not near enough.
func miss(group string, phase agreement.Phase, row agreement.Row) string {
	cells := reports.ValidationCells(row)
	cells[len(cells)-1] = speed(phase)
	return fmt.Sprintf("| %s | %s | %s | %s |\n", group, phase.Name, wording.PhaseFigure(row.Metric), strings.Join(cells, " | "))
}

// speed says how much longer or shorter the simulated cores work for an entry.
func speed(phase agreement.Phase) string {
	by := map[string]*float64{}
	for _, row := range phase.Rows {
		by[row.Metric] = row.Deviation
	}
	busy, entries := by[agreement.CoresBusy], by["raft_entries"]
	if busy == nil || entries == nil {
		return wording.Missing
	}
	return fmt.Sprintf("%+.0f%%", 100*((1+*busy)/(1+*entries)-1))
}
