package metrics

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Threshold is a demand on one metric of a run. At least one of Max, Min, MaxRatio and
// Tolerance is set; all that are set must hold.
type Threshold struct {
	Name   string `json:"name,omitempty"`   // for people; "" stands for the metric
	Metric string `json:"metric"`           // a path as Result.Lookup takes it
	Broker string `json:"broker,omitempty"` // only runs of this broker; "" is every run

	Max *float64 `json:"max,omitempty"`
	Min *float64 `json:"min,omitempty"`
	// MaxRatio bounds the metric to a multiple of the same metric in the run whose broker is
	// RatioOf.
	MaxRatio *float64 `json:"max_ratio,omitempty"`
	RatioOf  string   `json:"ratio_of,omitempty"`
	// Tolerance bounds the difference from the baseline run of the same scenario and broker,
	// as a share of the baseline's value.
	Tolerance *float64 `json:"tolerance,omitempty"`
	// Slack is a difference from the baseline that is allowed whatever the tolerance, since
	// shares of small values say little.
	Slack float64 `json:"slack,omitempty"`
}

// Verdict is a threshold applied to one run.
type Verdict struct {
	Name   string  `json:"name,omitempty"` // of the threshold
	Run    string  `json:"run"`            // Label of the run
	Metric string  `json:"metric"`
	Demand string  `json:"demand"` // e.g. "<= 250"
	Value  float64 `json:"value"`
	OK     bool    `json:"ok"`
	// Baseline is what the demand compares Value with, if it is a baseline's figure.
	Baseline *float64 `json:"baseline,omitempty"`
}

// ErrNoSuchRun is wrapped by errors of Check about a run that does not exist.
var ErrNoSuchRun = errors.New("no such run")

// Check applies thresholds to runs; baseline holds the runs that tolerances refer to. The
// error is about thresholds that cannot be applied, such as one with an unknown metric: that
// is an input error, not a failed threshold. A time that never came fails every demand.
func Check(runs, baseline []*Result, thresholds []Threshold) ([]Verdict, error) {
	verdicts := []Verdict{}
	var errs []error
	for i, t := range thresholds {
		v, err := t.check(runs, baseline)
		if err != nil {
			errs = append(errs, fmt.Errorf("threshold %d: %w", i+1, err))
		}
		verdicts = append(verdicts, v...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return verdicts, nil
}

func (t Threshold) check(runs, baseline []*Result) ([]Verdict, error) {
	if t.Max == nil && t.Min == nil && t.MaxRatio == nil && t.Tolerance == nil {
		return nil, fmt.Errorf("%s demands nothing: set max, min, max_ratio or tolerance", t.Metric)
	}
	var verdicts []Verdict
	for _, r := range runs {
		if t.Broker != "" && r.Run.Broker != t.Broker {
			continue
		}
		v, err := t.checkRun(r, runs, baseline)
		if err != nil {
			return nil, err
		}
		verdicts = append(verdicts, v...)
	}
	if len(verdicts) == 0 {
		return nil, fmt.Errorf("%s: broker %q: %w", t.Metric, t.Broker, ErrNoSuchRun)
	}
	return verdicts, nil
}

func (t Threshold) checkRun(r *Result, runs, baseline []*Result) ([]Verdict, error) {
	value, isTime, err := r.Lookup(t.Metric)
	if err != nil {
		return nil, err
	}
	came := func(v float64) bool { return !isTime || v >= 0 }
	var verdicts []Verdict
	judge := func(ok bool, demand string) *Verdict {
		verdicts = append(verdicts, Verdict{Name: t.Name, Run: r.Run.Label(), Metric: t.Metric, Demand: demand, Value: value, OK: ok})
		return &verdicts[len(verdicts)-1]
	}
	if t.Max != nil {
		judge(came(value) && value <= *t.Max, "<= "+number(*t.Max))
	}
	if t.Min != nil {
		judge(came(value) && value >= *t.Min, ">= "+number(*t.Min))
	}
	if t.MaxRatio != nil {
		base, err := t.valueIn(runs, fmt.Sprintf("max_ratio needs a run of broker %q (ratio_of)", t.RatioOf), func(o *Result) bool { return o.Run.Broker == t.RatioOf })
		if err != nil {
			return nil, err
		}
		judge(came(value) && came(base) && value <= *t.MaxRatio*base, fmt.Sprintf("<= %s × %s of %s", number(*t.MaxRatio), number(base), t.RatioOf))
	}
	if t.Tolerance != nil {
		need := fmt.Sprintf("tolerance needs a baseline run of %s with broker %s", r.Run.Scenario, r.Run.Broker)
		base, err := t.valueIn(baseline, need, func(o *Result) bool {
			return o.Run.Broker == r.Run.Broker && o.Run.Scenario == r.Run.Scenario
		})
		if err != nil {
			return nil, err
		}
		// What never came in the baseline need not come now.
		same := value == base || came(value) && came(base) && math.Abs(value-base) <= max(*t.Tolerance*math.Abs(base), t.Slack)
		judge(same, t.baselineText(base, isTime)).Baseline = &base
	}
	return verdicts, nil
}

// baselineText words the demand to be close to a baseline's value.
func (t Threshold) baselineText(base float64, isTime bool) string {
	share := number(100**t.Tolerance) + "%"
	switch large := t.Slack > *t.Tolerance*math.Abs(base); {
	case isTime && base < 0:
		return "never, as in the baseline"
	case large && isTime:
		share = number(t.Slack) + " s"
	case large:
		share = number(t.Slack)
	}
	text := number(base)
	if isTime {
		text = number(math.Round(1000*base)/1000) + " s"
	}
	return fmt.Sprintf("within %s of the baseline's %s", share, text)
}

// valueIn returns the threshold's metric in the first of the runs that is the one meant.
func (t Threshold) valueIn(runs []*Result, need string, is func(*Result) bool) (float64, error) {
	for _, r := range runs {
		if is(r) {
			v, _, err := r.Lookup(t.Metric)
			return v, err
		}
	}
	return 0, fmt.Errorf("%s: %s: %w", t.Metric, need, ErrNoSuchRun)
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', 10, 64) }

// Applicable separates the thresholds that cannot be applied because of what was not run: no
// run of their broker, none to compare with, no baseline, or only a part of a run. The second
// result says which they are, and why.
func Applicable(runs, baseline []*Result, thresholds []Threshold) (apply []Threshold, skipped []string) {
	has := func(among []*Result, broker string) bool {
		return slices.ContainsFunc(among, func(r *Result) bool { return broker == "" || r.Run.Broker == broker })
	}
	var stopped []*Result
	for _, r := range runs {
		if r.Stopped != "" {
			stopped = append(stopped, r)
		}
	}
	for _, t := range thresholds {
		name := t.Name
		if name == "" {
			name = t.Metric
		}
		switch {
		case !has(runs, t.Broker):
			skipped = append(skipped, fmt.Sprintf("%s: no run of %s", name, t.Broker))
		case t.MaxRatio != nil && !has(runs, t.RatioOf):
			skipped = append(skipped, fmt.Sprintf("%s: no run of %s to compare with", name, t.RatioOf))
		case has(stopped, t.Broker), t.MaxRatio != nil && has(stopped, t.RatioOf):
			skipped = append(skipped, name+": a run was stopped")
		case t.Tolerance != nil && len(baseline) == 0:
			skipped = append(skipped, name+": no baseline")
		default:
			apply = append(apply, t)
		}
	}
	return apply, skipped
}

// ParseLimit reads a demand such as recovery_s<=300, recovery_s<=5m or
// legacy:phases.drain.raft_entries>=10.
// FullPath says how the figure may be shortened; a broker and a colon before it limit the
// demand to the runs of that broker. The error says which part is wrong, before anything has
// run.
func (v *Vocabulary) ParseLimit(text string) (Threshold, error) {
	compact := strings.Join(strings.Fields(text), "")
	i := strings.IndexAny(compact, "<>=")
	if i < 0 || !strings.HasPrefix(compact[i:], "<=") && !strings.HasPrefix(compact[i:], ">=") {
		return Threshold{}, errors.New("it must be METRIC<=NUMBER or METRIC>=NUMBER, such as recovery_s<=300")
	}
	t := Threshold{Metric: compact[:i]}
	if broker, rest, ok := strings.Cut(t.Metric, ":"); ok {
		t.Broker, t.Metric = broker, rest
	}
	bound, err := strconv.ParseFloat(compact[i+2:], 64)
	if d, notOne := time.ParseDuration(compact[i+2:]); err != nil && notOne == nil && strings.HasSuffix(t.Metric, "_s") {
		bound, err = d.Seconds(), nil
	}
	if err != nil || math.IsNaN(bound) || math.IsInf(bound, 0) {
		return Threshold{}, fmt.Errorf("%q is not a number", compact[i+2:])
	}
	if t.Max = &bound; compact[i] == '>' {
		t.Max, t.Min = nil, &bound
	}
	if t.Metric, err = v.FullPath(t.Metric); err != nil {
		return Threshold{}, err
	}
	return t, nil
}

// FullPath completes the short form of a figure's path: a metric alone is one of the totals,
// a metric after the name of a phase is that phase's. It refuses series, which a sweep does
// not keep. The error of a path that no run has is a *PathError.
func (v *Vocabulary) FullPath(path string) (string, error) {
	root, _, dotted := strings.Cut(path, ".")
	if root == "series" {
		return "", fmt.Errorf("metric %q: the series of many runs are not kept: use a phase, totals, latencies, fan_in or host", path)
	}
	full := path
	switch {
	case !dotted, root == "raft_entries_by_type", root == "evals_by_status":
		full = "totals." + path
	case slices.Contains(v.Phases, root):
		full = "phases." + path
	}
	err := v.CheckPath(full)
	if e, ok := errors.AsType[*PathError](err); ok && e.Name == root && full == path { // here a phase may begin a path
		return full, &PathError{path, "phase or " + e.What, root, slices.Concat(v.Phases, e.Known)}
	}
	return full, err
}

// String returns a demand on a maximum or minimum as ParseLimit reads it.
func (t Threshold) String() string {
	text := strings.TrimPrefix(strings.TrimPrefix(t.Metric, "totals."), "phases.")
	if t.Broker != "" {
		text = t.Broker + ":" + text
	}
	if t.Min != nil {
		return text + ">=" + number(*t.Min)
	}
	if t.Max != nil {
		return text + "<=" + number(*t.Max)
	}
	return text
}
