package metrics

import (
	"fmt"
	"maps"
)

// Comparison says how a run differs from an older one, phase by phase.
type Comparison struct {
	Old    string            `json:"old"` // Label of the older run
	New    string            `json:"new"`
	Phases []PhaseComparison `json:"phases"`
	Totals []Delta           `json:"totals"`
	// Unmatched names the phases that only one of the two runs had.
	Unmatched []string `json:"unmatched,omitempty"`
	// Params lists what was set differently, other than the broker: figures of runs that
	// differ in more than the broker say little about it.
	Params []ParamDifference `json:"params,omitempty"`
}

// PhaseComparison is the comparison of one phase.
type PhaseComparison struct {
	Name   string  `json:"name"`
	Deltas []Delta `json:"deltas"`
}

// Delta is one metric in both runs.
type Delta struct {
	Metric string  `json:"metric"`
	Unit   string  `json:"unit"`
	Old    float64 `json:"old"`
	New    float64 `json:"new"`
	// Delta is New less Old; nil when either did not come (Metric.Came).
	Delta *float64 `json:"delta"`
	// Ratio is New by Old; nil when Delta is, or when Old is zero.
	Ratio *float64 `json:"ratio"`
}

// ParamDifference is a parameter that differs; nil stands for a missing one.
type ParamDifference struct {
	Name string `json:"name"`
	Old  any    `json:"old"`
	New  any    `json:"new"`
}

// Label names the run in tables and legends.
func (r Run) Label() string { return r.Broker }

// Compare compares two runs metric by metric.
func Compare(older, newer *Result) Comparison {
	c := Comparison{
		Old:    older.Run.Label(),
		New:    newer.Run.Label(),
		Phases: []PhaseComparison{},
		Totals: deltas(&older.Totals, &newer.Totals),
		Params: paramDifferences(older.Run, newer.Run),
	}
	for i := range older.Phases {
		p := &older.Phases[i]
		q := newer.Phase(p.Name)
		if q == nil {
			c.Unmatched = append(c.Unmatched, p.Name)
			continue
		}
		c.Phases = append(c.Phases, PhaseComparison{Name: p.Name, Deltas: deltas(p, q)})
	}
	for _, q := range newer.Phases {
		if older.Phase(q.Name) == nil {
			c.Unmatched = append(c.Unmatched, q.Name)
		}
	}
	return c
}

func deltas(older, newer *Phase) []Delta {
	out := make([]Delta, 0, len(phaseMetrics))
	for _, m := range phaseMetrics {
		out = append(out, NewDelta(m, m.Value(older), m.Value(newer)))
	}
	return out
}

// NewDelta relates two values of a metric.
func NewDelta(m Metric, older, newer float64) Delta {
	d := Delta{Metric: m.Name, Unit: m.Unit, Old: older, New: newer}
	if !m.Came(older) || !m.Came(newer) {
		return d
	}
	delta := newer - older
	d.Delta = &delta
	if older != 0 {
		ratio := newer / older
		d.Ratio = &ratio
	}
	return d
}

func paramDifferences(older, newer Run) []ParamDifference {
	a, b := older.Settings(), newer.Settings()
	union := maps.Clone(a)
	maps.Copy(union, b)
	var out []ParamDifference
	for _, name := range sortedKeys(union) {
		// Numbers are of several Go types, depending on whether the run was loaded.
		if x, y := a[name], b[name]; fmt.Sprint(x) != fmt.Sprint(y) {
			out = append(out, ParamDifference{Name: name, Old: x, New: y})
		}
	}
	return out
}

// Settings returns everything about a run that its user chose, except for the broker.
func (r Run) Settings() map[string]any {
	all := map[string]any{"scenario": r.Scenario, "seed": r.Seed, "clock": r.Clock, "target": r.Target, "version": r.Version}
	maps.Copy(all, r.Params)
	return all
}
