package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios"
)

// claim is a run that somebody has published figures of.
type claim struct {
	Title, Source     string
	Scenario, Release string
	Vars              map[string]int
	Figures           []published
}

// published is one figure: a metric as Result.Lookup takes it, or something of a series.
type published struct {
	What   string
	Metric string
	// Series and Phase name a series and the phase whose beginning its times count from: its value
	// at AtS, or when it Reaches a value.
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

// spec returns the simulation of the run.
func (c claim) spec() scenarios.Spec {
	spec := scenarios.Spec{Scenario: c.Scenario, Broker: c.Release, Cost: "published"}
	for name, value := range c.Vars {
		spec.Set(name, value)
	}
	return spec
}

// of returns the figure of a run, and whether it is in seconds.
func (p published) of(r *metrics.Result) (value float64, isTime bool, err error) {
	if p.Metric != "" {
		return r.Lookup(p.Metric)
	}
	s, phase := r.SeriesByName(p.Series), r.Phase(p.Phase)
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

// over returns the median and the range of the figure.
func (p published) over(runs []*metrics.Result) (median, low, high float64, isTime bool, err error) {
	var values []float64
	for _, r := range runs {
		v, is, err := p.of(r)
		if err != nil {
			return 0, 0, 0, false, err
		}
		values, isTime = append(values, v), is
	}
	slices.Sort(values)
	return values[len(values)/2], values[0], values[len(values)-1], isTime, nil
}
