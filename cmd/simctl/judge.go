package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports"
)

// demands holds what runs are checked against.
type demands struct {
	thresholds []metrics.Threshold
	baseline   []*metrics.Result
	skipped    []string // thresholds that could not be applied, and why
}

// judge checks runs against the demands and stores the verdicts in each Result. It returns
// an input error if a threshold names a figure that the runs do not have.
func (d *demands) judge(runs []*metrics.Result) error {
	var apply []metrics.Threshold
	apply, d.skipped = metrics.Applicable(runs, d.baseline, d.thresholds)
	verdicts, err := metrics.Check(runs, d.baseline, apply)
	if err != nil {
		return usageErrorf("%w", err)
	}
	for _, r := range runs {
		for _, v := range verdicts {
			if v.Run == r.Run.Label() {
				r.Thresholds = append(r.Thresholds, v)
			}
		}
	}
	return nil
}

// tell reports the thresholds that were not applied.
func (d *demands) tell(cmd *cobra.Command) {
	for _, text := range d.skipped {
		cmd.PrintErrf("threshold not applied: %s\n", text)
	}
}

// verdict returns an error that names the failed invariants and thresholds, or nil.
func verdict(results []*metrics.Result) error {
	var failed []string
	kinds := map[bool]bool{}
	for _, c := range reports.Checks(results) {
		if !c.OK {
			failed = append(failed, fmt.Sprintf("%s: %s: %s", c.Run, c.Name, c.Detail))
			kinds[c.Threshold] = true
		}
	}
	what := "invariants and thresholds"
	switch {
	case len(failed) == 0:
		return nil
	case !kinds[true]:
		what = "invariants"
	case !kinds[false]:
		what = "thresholds"
	}
	return verdictErrorf("%s failed: %s", what, strings.Join(failed, "; "))
}

// sweepVerdict returns an error if a run, or an invariant of a run, failed.
func sweepVerdict(s *metrics.Sweep, out string) error {
	failed, broken := reports.SweepFaults(s)
	stopped := reports.SweepStopped(s)
	switch {
	case stopped != "":
		return fmt.Errorf("%s: %s names them; the same command goes on from there", stopped, filepath.Join(out, reports.SweepSummaryName))
	case failed > 0:
		return fmt.Errorf("%d of %s failed: %s says why; the same command tries again", failed, english.Plural(len(s.Runs), "run", ""), filepath.Join(out, reports.SweepSummaryName))
	case broken > 0:
		return verdictErrorf("invariants failed in %d of %s: %s names them", broken, english.Plural(len(s.Runs), "run", ""), filepath.Join(out, reports.SweepSummaryName))
	}
	return nil
}
