package reports

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/wording"
)

// Calibration is costs that were fitted, and how well they do.
type Calibration struct {
	Runs    [][]*metrics.Result // the real ones, repeats together
	Factors []CalibratedFactor
	Figures []CalibratedFigure
	// How far Figures deviate, typically; Unseen is NaN if no run was left out.
	Before, After, Unseen float64
}

// CalibratedFactor is what a group of costs, or a speed, is multiplied by.
type CalibratedFactor struct {
	Name, What string
	Factor     float64
	AtEnd      bool // of what was searched
}

// CalibratedFigure is a length of time, in seconds: the real one, and simulated by the costs of
// before, by the fitted ones, and by those fitted without the run.
type CalibratedFigure struct {
	Run                         int
	Phase, What                 string
	Real, Before, After, Unseen float64
}

// CalibrationTable writes a calibration for a terminal.
func CalibrationTable(w io.Writer, c Calibration) error {
	out := bufio.NewWriter(w)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, f := range c.Factors {
		what := f.What
		if f.AtEnd {
			what += " (the search went no further: begin with other costs)"
		}
		fmt.Fprintf(table, "%s\t×%s\t%s\n", f.Name, wording.Times(f.Factor), what)
	}
	_ = table.Flush() // an error stays with out
	last := -1
	for _, f := range c.Figures {
		if f.Run != last {
			_ = table.Flush()
			fmt.Fprintf(out, "\n%s\n", wrap(wording.Subtitle(c.Runs[f.Run][:1])))
			fmt.Fprintln(table, "\treal\tbefore\tfitted\tfitted without this run")
			last = f.Run
		}
		fmt.Fprintf(table, "  %s: %s\t%s\t%s\t%s\t%s\n", f.Phase, f.What, wording.Duration(f.Real), against(f.Before, f.Real), against(f.After, f.Real), against(f.Unseen, f.Real))
	}
	_ = table.Flush()
	verdict := fmt.Sprintf("Typical deviation: %s before, %s fitted", wording.Percent(c.Before), wording.Percent(c.After))
	if math.IsNaN(c.Unseen) {
		verdict += "; how costs fitted to one run do on another is unknown: give runs of several sizes"
	} else {
		verdict += fmt.Sprintf(", %s on runs that the fit has not seen", wording.Percent(c.Unseen))
	}
	fmt.Fprintf(out, "\n%s\n", wrap(verdict))
	return out.Flush()
}

// against words a simulated length of time beside the real one.
func against(v, real float64) string {
	switch {
	case math.IsNaN(v):
		return wording.Missing
	case v < 0:
		return wording.Never
	}
	return fmt.Sprintf("%s (%+.1f%%)", wording.Duration(v), 100*(v/real-1))
}
