package reports

import (
	"encoding/json"
	"image/color"
	"math"
	"slices"
	"strconv"

	"github.com/simctl/simctl/metrics"
)

// sweep is a set of runs that differ in one or two numbers besides their broker.
type sweep struct {
	runs    []*metrics.Result
	brokers []string
	params  []string // one or two
}

// sweepOf returns nil when the runs are no sweep. Seeds do not count as a number: runs that
// differ in them alone are repetitions, of which figures show the median.
func sweepOf(runs []*metrics.Result) *sweep {
	if len(runs) < 3 {
		return nil
	}
	s := &sweep{runs: runs}
	for _, name := range varying(runs) {
		if name == "seed" {
			continue
		}
		for _, r := range runs {
			if _, ok := numeric(setting(r, name)); !ok {
				return nil
			}
		}
		s.params = append(s.params, name)
	}
	if n := len(s.params); n < 1 || n > 2 {
		return nil
	}
	for _, r := range runs {
		if !slices.Contains(s.brokers, r.Run.Broker) {
			s.brokers = append(s.brokers, r.Run.Broker)
		}
	}
	return s
}

func numeric(v any) (float64, bool) {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// sweepMetrics are the figures of a phase that a sweep is drawn for.
var sweepMetrics = []string{"raft_entries", "recovery_s"}

func (s *sweep) figures() []figure {
	v := newView(s.runs)
	var out []figure
	for _, phase := range v.recoveringPhases() {
		for _, name := range sweepMetrics {
			m, _ := metrics.PhaseMetric(name)
			f := figure{
				id:       "sweep-" + phase + "-" + name,
				title:    upperFirst(phase) + ": " + m.Title,
				subtitle: v.subtitle,
			}
			if len(s.params) == 1 {
				out = append(out, s.curves(f, phase, m))
			} else {
				out = append(out, s.heatMaps(f, phase, m))
			}
		}
	}
	return out
}

// at returns the values of a parameter, ascending, each once.
func (s *sweep) at(param string) []float64 {
	var values []float64
	for _, r := range s.runs {
		v, _ := numeric(setting(r, param))
		values = append(values, v)
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// median returns the middle one of the metric's values over the runs of a broker at some
// values of the parameters; -1 when one of them never came, NaN when there is no such run.
func (s *sweep) median(broker, phase string, m metrics.Metric, at ...float64) float64 {
	var values []float64
	for _, r := range s.runs {
		p := r.Phase(phase)
		if p == nil || r.Run.Broker != broker {
			continue
		}
		here := true
		for i, param := range s.params {
			v, _ := numeric(setting(r, param))
			here = here && v == at[i]
		}
		if !here {
			continue
		}
		v := m.Value(p)
		if m.Time() && v < 0 {
			return -1
		}
		values = append(values, v)
	}
	if len(values) == 0 {
		return math.NaN()
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2
}

// curves draws a metric over one parameter, a line for every broker.
func (s *sweep) curves(f figure, phase string, m metrics.Metric) figure {
	colors := brokerColors(s.brokers)
	xs := s.at(s.params[0])
	p := panel{}
	var ys []float64
	for i, b := range s.brokers {
		l := line{name: b, color: colors[i], dotted: true}
		for _, x := range xs {
			if y := s.median(b, phase, m, x); y >= 0 { // neither NaN nor never
				l.x, l.y = append(l.x, x), append(l.y, y)
			}
		}
		ys = append(ys, l.y...)
		p.lines = append(p.lines, l)
		f.legend = append(f.legend, key{b, colors[i]})
	}
	f.panels = []panel{p}
	f.x = axis{label: s.params[0], min: xs[0], max: xs[len(xs)-1], log: xs[0] > 0 && tooWide(xs)}
	f.y = axis{label: m.Title, max: positive(top(f.panels))}
	if m.Time() {
		f.y.unit = instants
		f.y.label += " " + clockFormat(f.y.max)
	}
	return f.logBars(ys)
}

// heatMaps draws a metric over two parameters, a panel for every broker, on one scale of
// colours.
func (s *sweep) heatMaps(f figure, phase string, m metrics.Metric) figure {
	xs, ys := s.at(s.params[0]), s.at(s.params[1])
	colors := brokerColors(s.brokers)
	var all []float64
	for _, b := range s.brokers {
		for _, x := range xs {
			for _, y := range ys {
				if v := s.median(b, phase, m, x, y); v >= 0 {
					all = append(all, v)
				}
			}
		}
	}
	scale := heatScale(all)
	for i, b := range s.brokers {
		p := panel{heading: b, color: colors[i]}
		for xi, x := range xs {
			for yi, y := range ys {
				c := heatCell{x: xi, y: yi}
				switch v := s.median(b, phase, m, x, y); {
				case math.IsNaN(v):
					continue
				case v < 0:
					c.color, c.label = rule, never
				case m.Time():
					c.color, c.label = scale(v), clock(v)
				default:
					c.color, c.label = scale(v), si(v)
				}
				p.cells = append(p.cells, c)
			}
		}
		f.panels = append(f.panels, p)
	}
	f.note = "darker is more; the same colours in all panels"
	f.x, f.y = categories(s.params[0], xs), categories(s.params[1], ys)
	return f
}

func categories(name string, values []float64) axis {
	a := axis{label: name, min: -0.5, max: float64(len(values)) - 0.5}
	for _, v := range values {
		a.names = append(a.names, strconv.FormatFloat(v, 'g', 6, 64))
	}
	return a
}

// heatScale returns a map from values to colours, light to dark, logarithmic when the
// values spread wide.
func heatScale(values []float64) func(float64) color.NRGBA {
	if len(values) == 0 {
		return func(float64) color.NRGBA { return rule }
	}
	transform := func(v float64) float64 { return v }
	if tooWide(values) {
		lowest := math.Inf(1)
		for _, v := range values {
			if v > 0 {
				lowest = math.Min(lowest, v)
			}
		}
		transform = func(v float64) float64 { return math.Log(math.Max(v, lowest)) }
	}
	low, high := transform(slices.Min(values)), transform(slices.Max(values))
	light, dark := rgb(0xf7, 0xf3, 0xe3), rgb(0x3b, 0x27, 0x54)
	return func(v float64) color.NRGBA {
		share := 0.0
		if high > low {
			share = (transform(v) - low) / (high - low)
		}
		mix := func(a, b uint8) uint8 { return uint8(float64(a) + share*(float64(b)-float64(a)) + 0.5) }
		return rgb(mix(light.R, dark.R), mix(light.G, dark.G), mix(light.B, dark.B))
	}
}

// brokerColors gives brokers the colours that their runs have elsewhere.
func brokerColors(brokers []string) []color.NRGBA {
	var runs []*metrics.Result
	for _, b := range brokers {
		runs = append(runs, &metrics.Result{Run: metrics.Run{Broker: b}})
	}
	return runColors(runs)
}

// clockFormat says how instants up to a highest one are written.
func clockFormat(highest float64) string {
	if highest >= 3600 {
		return "(h:mm)"
	}
	return "(mm:ss)"
}
