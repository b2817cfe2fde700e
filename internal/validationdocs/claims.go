package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/wording"
	"github.com/simctl/simctl/scenarios"
)

// claim is a run that somebody has published figures of.
type claim struct {
	Title, Source     string
	Scenario, Release string
	Than              string // the release that changes are against
	Vars              map[string]int
	Figures           []published
	Why               string // what holds for all figures
}

// published is one figure: a metric as Result.Lookup takes it, or something of a series.
type published struct {
	What   string
	Metric string
	// Of is the metric that this is a share of. Change says by how much it differs from the run of
	// the release Than. Both are percentages.
	Of     string
	Change bool
	// PerS and From make the figure a rate that rises while a Phase goes on: From at its beginning, and PerS more
	// for each second that it lasts.
	PerS float64 `json:"per_s"`
	From float64
	// The figure is the value of Series at AtS or, if Reaches is not zero, the time at which Series reaches that
	// value. Both times count from the beginning of Phase.
	Series, Phase string
	AtS           float64 `json:"at_s"`
	Reaches       float64

	Value float64
	About bool // the source says about so much
	Why   string
}

// readClaims reads the published figures.
func readClaims(path string) ([]claim, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var all []claim
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&all); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return all, nil
}

// specs returns the simulations of the run and, after them, those of the release Than.
func (c claim) specs() []scenarios.Spec {
	var all []scenarios.Spec
	for _, release := range []string{c.Release, c.Than} {
		if release == "" {
			continue
		}
		spec := scenarios.Spec{Scenario: c.Scenario, Broker: release, Cost: "published"}
		for name, value := range c.Vars {
			spec.Set(name, value)
		}
		all = append(all, repeats(spec)...)
	}
	return all
}

// of returns the figure of a run, and the words for such a figure. Than is the run of the other release.
func (p published) of(r, than *metrics.Result) (value float64, words func(float64) string, err error) {
	value, isTime, err := p.measured(r)
	words = wording.Grouped
	if isTime {
		words = wording.Clock
	}
	switch {
	case err != nil:
	case p.Of != "":
		var whole float64
		whole, _, err = r.Lookup(p.Of)
		value, words = 100*value/whole, percent
	case p.Change:
		var was float64
		was, _, err = p.measured(than)
		value, words = 100*(value/was-1), percent
	case p.PerS != 0:
		value, words = p.From+p.PerS*value, wording.Grouped
	}
	return value, words, err
}

func percent(share float64) string { return fmt.Sprintf("%.0f%%", share) }

// measured returns what a run itself says, and whether it is in seconds.
func (p published) measured(r *metrics.Result) (value float64, isTime bool, err error) {
	if p.Metric != "" {
		return r.Lookup(p.Metric)
	}
	s, phase := r.SeriesByName(p.Series), r.Phase(p.Phase)
	if p.PerS != 0 && phase != nil {
		return phase.EndS - phase.StartS, true, nil
	}
	if s == nil || phase == nil {
		return 0, false, fmt.Errorf("%s: the run has no series %q or no phase %q", p.What, p.Series, p.Phase)
	}
	if p.Reaches == 0 {
		return s.At(phase.StartS + p.AtS), false, nil
	}
	for i, at := range s.AtS {
		if at >= phase.StartS && s.Value[i] >= p.Reaches {
			return at - phase.StartS, true, nil
		}
	}
	return math.NaN(), true, fmt.Errorf("%s: %s never reaches %g", p.What, p.Series, p.Reaches)
}

// over returns the median and the range of the figure. Than are the runs of the other release.
func (p published) over(runs, than []*metrics.Result) (median, low, high float64, words func(float64) string, err error) {
	var values []float64
	for i, r := range runs {
		var other *metrics.Result
		if len(than) > 0 {
			other = than[i]
		}
		var v float64
		if v, words, err = p.of(r, other); err != nil {
			return 0, 0, 0, nil, err
		}
		values = append(values, v)
	}
	slices.Sort(values)
	return values[len(values)/2], values[0], values[len(values)-1], words, nil
}
