// Package madeby helps commands that make targets run to write pages about Results. It replaces the made part of a page
// and keeps the rest, which people write. It reads a directory of Results, and finds the cost file of the machine
// that they come from. It draws a chart of Results beside the page.
package madeby

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/chart"
	"github.com/simctl/simctl/reports/figure"
)

// Lines returns the lines that enclose what a target makes.
func Lines(target string) (begin, end string) {
	return "<!-- Made by make " + target + ". -->\n", "<!-- End of what make " + target + " made. -->\n"
}

// Put replaces what is between the lines of a target in the file of a page.
func Put(page, target string, text []byte) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	begin, end := Lines(target)
	before, rest, ok := bytes.Cut(old, []byte(begin))
	_, after, closed := bytes.Cut(rest, []byte(end))
	if !ok || !closed {
		return fmt.Errorf("%s lacks the lines %q and %q", page, begin, end)
	}
	return os.WriteFile(page, slices.Concat(before, []byte(begin), text, []byte(end), after), 0o644)
}

// Results reads the Results of a directory, in the order of their files' names.
func Results(dir string) ([]*metrics.Result, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var runs []*metrics.Result
	for _, file := range files {
		r, err := metrics.Load(file)
		if err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// Cost returns the file that says what work costs on the machine whose runs of real servers are in a directory:
// machine-RELEASE.hcl or, without one, machine.hcl.
func Cost(dir, release string) string {
	file := filepath.Join(dir, "machine-"+release+".hcl")
	if _, err := os.Stat(file); err != nil {
		return filepath.Join(dir, "machine.hcl")
	}
	return file
}

// Chart draws the chart of that ID as the picture NAME.png of a directory.
func Chart(dir, name, id string, runs []*metrics.Result) error {
	var known []string
	for _, f := range chart.Of(runs) {
		if f.ID == id {
			f.ID = name // of the file, too
			_, err := figure.WriteFiles(dir, []figure.Figure{f}, "png")
			return err
		}
		known = append(known, f.ID)
	}
	return fmt.Errorf("there is no chart %q: there is %q", id, known)
}
