package metrics

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/simctl/simctl/internal/infile"
	"github.com/simctl/simctl/internal/outfile"
)

// Baseline is the outcome of earlier runs that later ones are held against: their Results
// without series, distributions, marks and the cost to the host, and how to repeat them.
type Baseline struct {
	Schema int `json:"baseline"`
	// Spec repeats the runs. Package scenarios knows its content.
	Spec json.RawMessage `json:"spec"`
	// Tolerance bounds the difference of a figure from the baseline's, as a share of that.
	Tolerance float64   `json:"tolerance"`
	Runs      []*Result `json:"runs"`
}

// baselineSchema is the version of the baseline file that this build writes.
const baselineSchema = 1

// gateMetrics are the metrics of each phase that a baseline holds runs to: what a broker
// costs, and how long it takes.
var gateMetrics = []string{
	"raft_entries", "evals_created", "evals_processed", "evals_canceled", "plans_submitted", "queue_empty_s", "recovery_s", "nodes_down",
}

// A difference of no more than the slack is allowed whatever the tolerance, since shares of small figures say little.
const (
	countSlack = 2
	timeSlack  = 1 // s
)

// NewBaseline keeps what later runs are compared with.
func NewBaseline(spec json.RawMessage, tolerance float64, runs []*Result) *Baseline {
	b := &Baseline{Schema: baselineSchema, Spec: spec, Tolerance: tolerance}
	for _, r := range runs {
		kept := *r
		kept.Series, kept.Marks, kept.Thresholds, kept.Host, kept.Run.CostModel = nil, []Mark{}, nil, Host{}, nil
		kept.FanIn.Distribution = Distribution{}
		kept.Latencies = append([]Latency{}, r.Latencies...)
		for i := range kept.Latencies {
			kept.Latencies[i].Distribution = Distribution{}
		}
		b.Runs = append(b.Runs, &kept)
	}
	return b
}

// Thresholds returns the demand that every figure be within the tolerance of the baseline's. What
// was zero must stay so, but for the slack: clients that go down where none did are a finding.
func (b *Baseline) Thresholds() []Threshold {
	var out []Threshold
	for _, r := range b.Runs {
		for _, p := range r.Phases {
			for _, name := range gateMetrics {
				m, _ := PhaseMetric(name)
				slack := float64(countSlack)
				if m.Time() {
					slack = timeSlack
				}
				out = append(out, Threshold{
					Metric: "phases." + p.Name + "." + name, Broker: r.Run.Broker, Tolerance: &b.Tolerance, Slack: slack,
				})
			}
		}
	}
	return out
}

// Differences holds runs against those of the baseline: a Verdict for every figure that differs,
// however little. A phase that either of them lacks is left out.
func (b *Baseline) Differences(runs []*Result) []Verdict {
	var out []Verdict
	for _, r := range runs {
		i := slices.IndexFunc(b.Runs, func(old *Result) bool { return old.Run.Broker == r.Run.Broker })
		if i < 0 {
			continue
		}
		for _, p := range r.Phases {
			old := b.Runs[i].Phase(p.Name)
			for _, name := range gateMetrics {
				m, _ := PhaseMetric(name)
				if old == nil || m.Value(old) == m.Value(&p) {
					continue
				}
				was := m.Value(old)
				out = append(out, Verdict{Run: r.Run.Label(), Metric: "phases." + p.Name + "." + name, Value: m.Value(&p), Baseline: &was})
			}
		}
	}
	return out
}

// Unlike compares the baseline with the phases that a scenario has now. It returns those that only
// the baseline has, and those that only the scenario has.
func (b *Baseline) Unlike(phases []string) (gone, fresh []string) {
	had := b.Runs[0].phaseNames()
	return without(had, phases), without(phases, had)
}

// without returns the names of all that are not among the others.
func without(all, others []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool { return slices.Contains(others, name) })
}

// Changes says, in a line each, how the next baseline differs from b in what it runs and demands.
func (b *Baseline) Changes(next *Baseline) []string {
	var lines []string
	change := func(what, now, was string) {
		if now != was {
			lines = append(lines, fmt.Sprintf("%s: %s, was %s", what, cmp.Or(now, "unset"), cmp.Or(was, "unset")))
		}
	}
	change("tolerance", number(100*next.Tolerance)+"%", number(100*b.Tolerance)+"%")
	settings := func(of *Baseline) map[string]string {
		run := of.Runs[0].Run
		texts := map[string]string{"seed": strconv.FormatInt(run.Seed, 10)}
		for name, value := range run.Params {
			texts[name] = fmt.Sprint(value)
		}
		return texts
	}
	now, was := settings(next), settings(b)
	names := maps.Clone(now)
	maps.Copy(names, was)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		change(name, now[name], was[name])
	}
	covers := func(what string, gone, fresh []string) {
		for _, name := range gone {
			lines = append(lines, what+" "+name+": no longer in the baseline")
		}
		for _, name := range fresh {
			lines = append(lines, what+" "+name+": new in the baseline")
		}
	}
	gone, fresh := b.Unlike(next.Runs[0].phaseNames())
	covers("phase", gone, fresh)
	covers("broker", without(b.brokers(), next.brokers()), without(next.brokers(), b.brokers()))
	return lines
}

func (b *Baseline) brokers() (names []string) {
	for _, r := range b.Runs {
		names = append(names, r.Run.Broker)
	}
	return names
}

// LoadBaseline reads a baseline file. The error names the file and says what is wrong.
func LoadBaseline(path string) (*Baseline, error) {
	data, err := infile.Read(path, infile.MostData)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	b, err := decodeBaseline(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// SpoiltError is about a file that was a baseline this simctl could read, and is one again when it is
// written anew.
type SpoiltError struct{ err error }

func (e *SpoiltError) Error() string {
	return e.err.Error() + ": write it again with simctl gate SCENARIO --update"
}

func (e *SpoiltError) Unwrap() error { return e.err }

func decodeBaseline(data []byte) (*Baseline, error) {
	if err := intact(data); err != nil {
		return nil, &SpoiltError{err}
	}
	var head struct{ Baseline *int }
	err := json.Unmarshal(data, &head)
	switch {
	case err == nil && head.Baseline == nil:
		return nil, errors.New(`not a baseline of simctl gate: it has no "baseline"`)
	case err == nil && *head.Baseline != baselineSchema:
		return nil, &SpoiltError{fmt.Errorf("it is baseline version %d and this simctl reads %d", *head.Baseline, baselineSchema)}
	}
	b := &Baseline{}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	if err := dec.Decode(b); err != nil {
		return nil, fmt.Errorf("not a baseline of simctl gate: %w", JSONError(err))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, &SpoiltError{fmt.Errorf("something follows the baseline after byte %d", dec.InputOffset())}
	}
	if err := unambiguous(data); err != nil {
		return nil, &SpoiltError{err}
	}
	return b, b.validate()
}

// DecodeRuns reads the runs of a Result file, which is one, or of a baseline.
func DecodeRuns(data []byte) ([]*Result, error) {
	var head struct{ Baseline *int }
	if json.Unmarshal(data, &head) != nil || head.Baseline == nil {
		r, err := Decode(data)
		return []*Result{r}, err
	}
	b, err := decodeBaseline(data)
	if err != nil {
		return nil, err
	}
	for _, r := range b.Runs {
		r.OfBaseline = true
	}
	return b.Runs, nil
}

func (b *Baseline) validate() error {
	switch {
	case len(b.Runs) == 0:
		return errors.New("the baseline holds no runs")
	case !(b.Tolerance >= 0):
		return fmt.Errorf("the tolerance is %g: it must be 0 or more", b.Tolerance)
	}
	for i, r := range b.Runs {
		if r == nil {
			return &SpoiltError{fmt.Errorf("the baseline's runs[%d] is null", i)}
		}
		if r.Schema > Schema {
			return fmt.Errorf("the baseline's runs[%d] has schema %d, but this simctl reads up to %d: use a newer simctl", i, r.Schema, Schema)
		}
		if err := r.validate(); err != nil {
			return fmt.Errorf("the baseline's run: %w", err)
		}
		if slices.ContainsFunc(b.Runs[:i], func(other *Result) bool { return other.Run.Broker == r.Run.Broker }) {
			return &SpoiltError{fmt.Errorf("the baseline has two runs of %q", r.Run.Broker)}
		}
	}
	return nil
}

// WriteFile writes the baseline, whole or not at all.
func (b *Baseline) WriteFile(path string) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(b); err != nil {
		return fmt.Errorf("writing the baseline: %w", err)
	}
	return outfile.Write(path, text.Bytes(), 0o644)
}
