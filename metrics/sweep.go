package metrics

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/simctl/simctl/internal/outfile"
)

// Sweep is the outcome of many runs of one scenario that differ in a few parameters.
type Sweep struct {
	Schema   int    `json:"schema"` // Schema of its Results
	Scenario string `json:"scenario"`
	Command  string `json:"command"` // repeats the sweep, or continues it
	// Design says how the cells were chosen: grid, sample, one at a time or knee.
	Design  string   `json:"design"`
	Axes    []Axis   `json:"axes"`
	Brokers []string `json:"brokers"` // the older design first
	Seeds   []int64  `json:"seeds"`
	// Base is the value of each axis while another one varies, if the design is one at a time.
	Base   []string    `json:"base,omitempty"`
	Limits []Threshold `json:"limits,omitempty"`
	// Metrics are paths of figures that the sweep is about, besides those that every sweep is
	// about and those of Limits.
	Metrics []string   `json:"metrics,omitempty"`
	Runs    []SweepRun `json:"runs"`
	Knees   []Knee     `json:"knees,omitempty"`
	// Missing are the cells that the sweep has no runs of, since it reached a limit.
	Missing []MissingCell `json:"missing,omitempty"`
}

// MissingCell is a cell that should have been run.
type MissingCell struct {
	Point  []string `json:"point"` // the value of each axis
	Broker string   `json:"broker"`
	Limit  string   `json:"limit"` // that was reached, such as --max-time 10m
}

// Axis is a parameter that a sweep varies.
type Axis struct {
	Name string `json:"name"` // as in the params of a Result
	// Values are those that were run, ascending if they are numbers.
	Values  []string `json:"values"`
	Numeric bool     `json:"numeric"`
	Unit    string   `json:"unit,omitempty"` // of the values, "s" if they are durations
	// Load says that more of it is more work for the servers. Settings of theirs are no load.
	Load bool `json:"load"`
}

// SweepRun is one cell under one broker with one seed.
type SweepRun struct {
	Point    []string `json:"point"` // the value of each axis
	Broker   string   `json:"broker"`
	Seed     int64    `json:"seed"`
	File     string   `json:"file,omitempty"` // of the Result, below the sweep's directory
	Attempts int      `json:"attempts"`
	Error    string   `json:"error,omitempty"` // why there is no Result
	// Result lacks its series; nil when the run failed.
	Result *Result `json:"-"`
}

// Knee is how far an axis could be raised for one broker and the rest of a cell.
type Knee struct {
	Axis   string   `json:"axis"`
	Point  []string `json:"point"` // the value of each axis; that of Axis is empty
	Broker string   `json:"broker"`
	// Passes is the largest tried value that met the limits, Fails the smallest that did not;
	// empty if there was none.
	Passes string `json:"passes,omitempty"`
	Fails  string `json:"fails,omitempty"`
	// Limit is what ended the search before it had found the knee; empty if it was not ended.
	Limit string `json:"limit,omitempty"`
}

// WriteFile writes the sweep as indented JSON without its Results, whole or not at all.
func (s *Sweep) WriteFile(path string) error {
	data, err := json.MarshalIndent(s, "", " ")
	if err != nil {
		return fmt.Errorf("encoding the sweep for %s: %w", path, err)
	}
	return outfile.Write(path, append(data, '\n'), 0o644)
}

// Number returns a value of the axis as a number; NaN if it is none.
func (a Axis) Number(value string) float64 {
	v, err := strconv.ParseFloat(value, 64)
	if err != nil || !a.Numeric {
		return math.NaN()
	}
	return v
}

// Cell is the runs of one point under one broker, one for each seed.
type Cell struct {
	Point  []string
	Broker string
	Runs   []SweepRun
}

// Cells groups the runs by cell, in the order of their first ones.
func (s *Sweep) Cells() []Cell {
	var cells []Cell
	index := map[string]int{}
	for _, r := range s.Runs {
		key := r.Broker + "\x00" + strings.Join(r.Point, "\x00")
		i, ok := index[key]
		if !ok {
			i = len(cells)
			index[key] = i
			cells = append(cells, Cell{Point: r.Point, Broker: r.Broker})
		}
		cells[i].Runs = append(cells[i].Runs, r)
	}
	return cells
}

// Spread is a figure of a cell over its seeds.
type Spread struct {
	Median, Low, High float64
	// Never says that a time did not come with at least one seed; None that no seed has
	// the figure. The other fields are then zero.
	Never, None bool
}

// Spread returns a figure, by its path, over the runs of the cell that went well.
func (c Cell) Spread(path string) Spread {
	var values []float64
	for _, r := range c.Runs {
		if r.Result == nil {
			continue
		}
		v, isTime, err := r.Result.Lookup(path)
		if err != nil {
			continue
		}
		if isTime && v < 0 {
			return Spread{Never: true}
		}
		values = append(values, v)
	}
	if len(values) == 0 {
		return Spread{None: true}
	}
	slices.Sort(values)
	n := len(values)
	return Spread{Median: (values[(n-1)/2] + values[n/2]) / 2, Low: values[0], High: values[n-1]}
}

// Passes reports whether every run of the cell succeeded and met the limits.
func (c Cell) Passes(limits []Threshold) bool {
	for _, r := range c.Runs {
		if r.Result == nil || !r.Result.meets(limits) {
			return false
		}
	}
	return true
}

// meets reports whether the run meets those limits that are about its broker.
func (r *Result) meets(limits []Threshold) bool {
	for _, t := range limits {
		if t.Broker != "" && t.Broker != r.Run.Broker {
			continue
		}
		verdicts, err := t.check([]*Result{r}, nil)
		if err != nil || slices.ContainsFunc(verdicts, func(v Verdict) bool { return !v.OK }) {
			return false
		}
	}
	return true
}

// Results returns the Results of the runs that succeeded.
func (s *Sweep) Results() []*Result {
	var out []*Result
	for _, r := range s.Runs {
		if r.Result != nil {
			out = append(out, r.Result)
		}
	}
	return out
}
