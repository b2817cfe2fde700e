package metrics

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

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

// BaselineSchema is the version of the baseline file that this build writes.
const BaselineSchema = 1

// gateMetrics are the metrics of each phase that a baseline holds runs to: what a broker
// costs, and how long it takes.
var gateMetrics = []string{
	"raft_entries", "evals_created", "evals_processed", "evals_canceled", "plans_submitted", "queue_empty_s", "recovery_s", "nodes_down",
}

// A difference within the slack is none, since shares of small figures say little.
const (
	countSlack = 2
	timeSlack  = 1 // s
)

// NewBaseline keeps what later runs are compared with.
func NewBaseline(spec json.RawMessage, tolerance float64, runs []*Result) *Baseline {
	b := &Baseline{Schema: BaselineSchema, Spec: spec, Tolerance: tolerance}
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

// Thresholds returns the demand that every figure be within the tolerance of the baseline's.
// It leaves out counts that were zero.
func (b *Baseline) Thresholds() []Threshold {
	var out []Threshold
	for _, r := range b.Runs {
		for _, p := range r.Phases {
			for _, name := range gateMetrics {
				m, _ := PhaseMetric(name)
				if m.Value(&p) == 0 && !m.Time() {
					continue
				}
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

func decodeBaseline(data []byte) (*Baseline, error) {
	b := &Baseline{}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	if err := dec.Decode(b); err != nil {
		return nil, fmt.Errorf("not a baseline of simctl gate: %w", JSONError(err))
	}
	return b, b.validate()
}

// DecodeRuns reads the runs of a Result file, which is one, or of a baseline, which are not whole.
func DecodeRuns(data []byte) (runs []*Result, whole bool, err error) {
	var head struct{ Baseline *int }
	if json.Unmarshal(data, &head) != nil || head.Baseline == nil {
		r, err := Decode(data)
		return []*Result{r}, true, err
	}
	b, err := decodeBaseline(data)
	if err != nil {
		return nil, false, err
	}
	return b.Runs, false, nil
}

func (b *Baseline) validate() error {
	switch {
	case b.Schema != BaselineSchema:
		return fmt.Errorf("it is baseline version %d; this simctl reads %d: write it again with simctl gate --update", b.Schema, BaselineSchema)
	case len(b.Runs) == 0:
		return errors.New("the baseline holds no runs")
	case !(b.Tolerance >= 0):
		return fmt.Errorf("the tolerance is %g: it must be 0 or more", b.Tolerance)
	}
	for i, r := range b.Runs {
		if r == nil {
			return fmt.Errorf("the baseline's runs[%d] is null: write it again with simctl gate --update", i)
		}
		if err := r.validate(); err != nil {
			return fmt.Errorf("the baseline's run: %w", err)
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
