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
