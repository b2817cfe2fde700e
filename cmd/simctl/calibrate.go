package main

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/simctl/simctl/reports"
	"github.com/simctl/simctl/scenarios/calibrate"
)

type calibrateFlags struct {
	realResults
	out   string
	quiet bool
}

// calibrationTold is the time between two lines about how far a calibration is.
const calibrationTold = 5 * time.Second

func newCalibrateCommand() *cobra.Command {
	f := &calibrateFlags{}
	cmd := &cobra.Command{
		Use:   "calibrate REAL...",
		Short: "Fit what work costs to runs on real servers",
		Long: `Fit a cost file to runs on real servers, by how long things took. Counts are never fitted.

Results of servers that simctl started on this machine say how long its processors were busy.
Then the command fits one number, how fast the processors are, to their time for each
evaluation processed. A few simulations find it. Storms of 500 nodes or more will do.

Otherwise it fits three factors, on the costs of scheduling, of the log and of remote calls,
to the lengths of phases in which evaluations were processed and no node went down. The search simulates every run dozens
of times, so give small ones: a few hundred nodes, with a backlog that takes seconds to drain.

Each run is also left out once: the costs fitted to the others tell how well such a fit does
on a run that it has not seen.`,
		Example: `  simctl calibrate real-500.json real-1000.json --out mine.hcl
  simctl validate real-2000.json --cost ./mine.hcl`,
		Args: takes(1, math.MaxInt, "one result or more, got %d"),
		RunE: f.run,
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.out, "out", "", "cost file to write")
	f.realResults.bind(flags)
	flags.Lookup("cost").Usage = "what the fit begins with, and scales: " + flags.Lookup("cost").Usage[len("what work costs: "):]
	flags.BoolVar(&f.quiet, "quiet", false, "print no progress")
	return cmd
}

func (f *calibrateFlags) run(cmd *cobra.Command, args []string) error {
	if f.out == "" || !strings.HasSuffix(f.out, ".hcl") {
		return usageErrorf("--out %q: it must be the name of a .hcl file", f.out)
	}
	if err := checkFile("--out", f.out); err != nil {
		return err
	}
	groups, specs, err := f.load(cmd, args)
	if err != nil {
		return err
	}
	told := time.Now()
	fit, err := calibrate.Run(cmd.Context(), specs, groups, func(simulations int) {
		if !f.quiet && time.Since(told) >= calibrationTold {
			told = time.Now()
			cmd.PrintErrf("%s\n", english.Plural(simulations, "simulation", ""))
		}
	})
	if errors.Is(err, calibrate.ErrNothing) || errors.Is(err, calibrate.ErrMixed) {
		return usageErrorf("%w", err)
	}
	if cmd.Context().Err() != nil {
		return interruptedError(cmd.Context())
	}
	if err != nil {
		return fmt.Errorf("simulate the real runs: %w", err)
	}
	c := reports.Calibration{Runs: groups, Before: fit.Before, After: fit.After, Unseen: fit.Unseen}
	for _, one := range fit.Factors {
		c.Factors = append(c.Factors, reports.CalibratedFactor(one))
	}
	for _, one := range fit.Figures {
		c.Figures = append(c.Figures, reports.CalibratedFigure{
			Run: one.Run, Phase: one.Phase, What: one.What, Real: one.Real, Before: one.Before, After: one.After, Unseen: one.Unseen,
		})
	}
	var text bytes.Buffer
	if err := reports.CalibrationTable(&text, c); err != nil {
		return err
	}
	class := strings.TrimSuffix(filepath.Base(f.out), ".hcl")
	source := fmt.Sprintf("%s, fitted by simctl calibrate to %s", specs[0].Cost, strings.Join(args, ", "))
	if err := writeFile(f.out, fit.Text(f.out, class, source)); err != nil {
		return fmt.Errorf("write the costs: %w", err)
	}
	_, err = cmd.OutOrStdout().Write(text.Bytes())
	return err
}
