package sweep

import (
	"fmt"
	"slices"
	"strings"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/wording"
)

// Stopped says that cells are missing since the sweep reached a limit; "" if none are.
func Stopped(s *metrics.Sweep) string {
	var limits []string
	missing := len(s.Missing)
	for _, c := range s.Missing {
		limits = append(limits, c.Limit)
	}
	for _, k := range s.Knees {
		limits = append(limits, k.Limit)
	}
	slices.Sort(limits)
	limits = slices.DeleteFunc(slices.Compact(limits), func(l string) bool { return l == "" })
	if len(limits) == 0 {
		return ""
	}
	text := "stopped by " + strings.Join(limits, ", ")
	if len(s.Knees) > 0 {
		return text + " before every knee was found"
	}
	are := "are"
	if missing == 1 {
		are = "is"
	}
	return fmt.Sprintf("%s: %d of %s %s missing", text, missing, wording.Counted(float64(missing+len(s.Cells())), "cells"), are)
}

// Faults counts the runs that failed, and those in which an invariant did.
func Faults(s *metrics.Sweep) (failed, broken int) {
	for _, r := range s.Runs {
		switch {
		case r.Result == nil:
			failed++
		case slices.ContainsFunc(r.Result.Invariants, func(inv metrics.Invariant) bool { return !inv.OK }):
			broken++
		}
	}
	return failed, broken
}

// caveats says what a reader must know before any finding.
func caveats(s *metrics.Sweep) []string {
	failed, broken := Faults(s)
	of := " of " + wording.Counted(float64(len(s.Runs)), "runs")
	var out []string
	if text := Stopped(s); text != "" {
		out = append(out, wording.UpperFirst(text))
	}
	if failed > 0 {
		out = append(out, fmt.Sprintf("%d%s failed", failed, of))
	}
	if broken > 0 {
		out = append(out, fmt.Sprintf("Invariants failed in %d%s", broken, of))
	}
	return out
}

// missingSection names the cells that a limit kept from running.
func missingSection(s *metrics.Sweep) Section {
	sec := Section{Title: "Missing cells"}
	for i, c := range s.Missing {
		if i == mostListed {
			sec.Notes = append(sec.Notes, fmt.Sprintf("and %d more", len(s.Missing)-mostListed))
			break
		}
		sec.Notes = append(sec.Notes, fmt.Sprintf("%s %s: %s", pointText(s, c.Point), c.Broker, c.Limit))
	}
	return sec
}
