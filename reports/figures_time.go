package reports

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/simctl/simctl/metrics"
)

// pendingDepth is how many evaluations wait behind another of their job.
func (v *view) pendingDepth() figure {
	f := figure{
		id: "pending", title: "Pending evaluations in the broker", subtitle: v.subtitle, legend: v.runKeys(),
		x: v.timeAxis(), y: axis{label: "pending evaluations"},
	}
	for i, r := range v.runs {
		p := v.timePanel(i)
		if s := r.SeriesByName(metrics.SeriesPending); s != nil && len(s.AtS) > 0 {
			p.areas = []area{{name: "pending", color: v.colors[i], x: s.AtS, y: s.Value, outline: true}}
			p.detail = "peak " + grouped(float64(r.Totals.PeakPending)) + v.emptied(r)
		}
		f.panels = append(f.panels, p)
	}
	return f.shareY()
}

// emptied says how long each phase took to empty the queue.
func (v *view) emptied(r *metrics.Result) string {
	var times []string
	for _, name := range v.recoveringPhases() {
		switch p := r.Phase(name); {
		case p == nil:
		case p.QueueEmptyS < 0:
			times = append(times, "never in "+name)
		default:
			times = append(times, clock(p.QueueEmptyS)+" in "+name)
		}
	}
	if len(times) == 0 {
		return ""
	}
	return "; empty after " + strings.Join(times, ", ")
}

// raftGrowth is the log's growth, by type of entry where that was recorded.
func (v *view) raftGrowth() figure {
	f := figure{
		id: "raft", title: "Growth of the Raft log", subtitle: v.subtitle,
		x: v.timeAxis(), y: axis{label: "last log index"},
	}
	var heights []float64
	for i, r := range v.runs {
		p := v.timePanel(i)
		if s := r.SeriesByName(metrics.SeriesRaftIndex); s != nil && len(s.AtS) > 0 {
			p.lines = []line{{name: "last index", color: v.colors[i], x: s.AtS, y: s.Value}}
			heights = append(heights, p.top())
			p.detail = "+" + grouped(float64(r.Totals.RaftEntries)) + " entries"
		}
		f.panels = append(f.panels, p)
	}
	f.legend = v.runKeys()
	if f.y.log = tooWide(heights); !f.y.log {
		// Stacked areas mean nothing on a logarithmic axis.
		byType := v.stack(entryParts())
		for i := range byType {
			f.panels[i].areas = byType[i]
		}
		f.legend = append(f.legend, keysOf(f.panels)...)
	}
	return f.shareY()
}

// evalFates is what became of the evaluations.
func (v *view) evalFates() figure {
	f := v.stacked("fates", "Evaluations by fate", "evaluations so far", []part{
		{"complete", green, []string{metrics.SeriesCompleted}},
		{"canceled", grey, []string{metrics.SeriesCanceled}},
		{"failed", purple, []string{metrics.SeriesFailed}},
	})
	for i := range f.panels {
		t := v.runs[i].Totals
		f.panels[i].detail = fmt.Sprintf("%s processed, %s canceled", grouped(float64(t.EvalsProcessed)), grouped(float64(t.EvalsCanceled)))
	}
	return f
}

// queues is where in the broker the evaluations are.
func (v *view) queues() figure {
	f := v.stacked("queues", "Evaluations in the broker, by queue", "evaluations", []part{
		{"unacked", purple, []string{metrics.SeriesUnacked}},
		{"ready", green, []string{metrics.SeriesReady}},
		{"pending", orange, []string{metrics.SeriesPending}},
		{"waiting", yellow, []string{metrics.SeriesWaiting}},
		{"cancelable", grey, []string{metrics.SeriesCancelable}},
	})
	for i := range f.panels {
		if n := v.runs[i].Totals.PeakCancelable; n > 0 {
			f.panels[i].detail = "at most " + grouped(float64(n)) + " cancelable"
		}
	}
	return f
}

func (v *view) nodes() figure {
	f := v.stacked("nodes", "Client nodes by status", "nodes", []part{
		{"ready", green, []string{metrics.SeriesNodesReady}},
		{"initializing", yellow, []string{metrics.SeriesNodesInit}},
		{"disconnected", purple, []string{metrics.SeriesNodesDisconnected}},
		{"down", grey, []string{metrics.SeriesNodesDown}},
	})
	for i := range f.panels {
		if n := v.runs[i].Totals.NodesDown; n > 0 {
			f.panels[i].detail = grouped(float64(n)) + " went down"
		}
	}
	return f
}

// part is one layer of a stack: the sum of some series.
type part struct {
	name   string
	color  color.NRGBA
	series []string
}

// entryParts are the layers of the Raft log: the types that matter, and the rest.
func entryParts() []part {
	p := metrics.SeriesEntriesPrefix
	return []part{
		{"node register", sky, []string{p + metrics.EntryNodeRegister}},
		{"node status", purple, []string{p + metrics.EntryNodeUpdateStatus}},
		{"eval update", orange, []string{p + metrics.EntryEvalUpdate}},
		{"plan result", green, []string{p + metrics.EntryApplyPlanResults}},
		{"other", grey, []string{p + "*"}},
	}
}

// stacked returns a figure of stacked areas over time; without panels when no run has
// recorded any of the parts.
func (v *view) stacked(id, title, label string, parts []part) figure {
	f := figure{id: id, title: title, subtitle: v.subtitle, x: v.timeAxis(), y: axis{label: label}}
	for i, areas := range v.stack(parts) {
		p := v.timePanel(i)
		p.areas = areas
		f.panels = append(f.panels, p)
	}
	f.legend = keysOf(f.panels)
	if len(f.legend) == 0 {
		return figure{}
	}
	return f.shareY()
}

// perPart bounds the points of one layer; a stack has as many as all its layers together.
const perPart = 600

// stack lays the parts of each run on top of each other. Parts that are zero in every run
// are left out, so that the legend lists only what can be seen.
func (v *view) stack(parts []part) [][]area {
	sums := make([][]metrics.Series, len(v.runs)) // by run and part
	seen := make([]bool, len(parts))
	for i, r := range v.runs {
		for j, p := range parts {
			s := sum(matching(r, p, parts)).Thin(perPart)
			sums[i] = append(sums[i], s)
			seen[j] = seen[j] || len(s.Value) > 0 && slices.Max(s.Value) > 0
		}
	}
	out := make([][]area, len(v.runs))
	for i := range v.runs {
		x := instantsOf(sums[i])
		base := make([]float64, len(x))
		for j, p := range parts {
			if !seen[j] || len(x) == 0 {
				continue
			}
			y := make([]float64, len(x))
			for k, at := range x {
				y[k] = base[k] + valueAt(sums[i][j], at)
			}
			out[i] = append(out[i], area{name: p.name, color: p.color, x: x, y: y, base: base})
			base = y
		}
	}
	return out
}

// matching returns the series of a part. A name that ends in * stands for every series
// with that prefix which no other part names.
func matching(r *metrics.Result, p part, parts []part) []metrics.Series {
	var out []metrics.Series
	for _, name := range p.series {
		prefix, wild := strings.CutSuffix(name, "*")
		for _, s := range r.Series {
			claimed := slices.ContainsFunc(parts, func(o part) bool { return slices.Contains(o.series, s.Name) })
			if s.Name == name || wild && strings.HasPrefix(s.Name, prefix) && !claimed {
				out = append(out, s)
			}
		}
	}
	return out
}

// sum adds series up at every instant of any of them.
func sum(of []metrics.Series) metrics.Series {
	if len(of) == 1 {
		return of[0]
	}
	s := metrics.Series{AtS: instantsOf(of)}
	for _, at := range s.AtS {
		total := 0.0
		for _, o := range of {
			total += valueAt(o, at)
		}
		s.Value = append(s.Value, total)
	}
	return s
}

// instantsOf returns the instants of all the series, ascending, each once.
func instantsOf(of []metrics.Series) []float64 {
	var x []float64
	for _, s := range of {
		x = append(x, s.AtS...)
	}
	slices.Sort(x)
	return slices.Compact(x)
}

// valueAt interpolates a series; outside of its time it keeps its first or last value.
func valueAt(s metrics.Series, at float64) float64 {
	n := len(s.AtS)
	if n == 0 {
		return 0
	}
	i := sort.SearchFloat64s(s.AtS, at)
	switch {
	case i == n:
		return s.Value[n-1]
	case i == 0 || s.AtS[i] == at:
		return s.Value[i]
	}
	x0, x1 := s.AtS[i-1], s.AtS[i]
	return s.Value[i-1] + (s.Value[i]-s.Value[i-1])*(at-x0)/(x1-x0)
}

// keysOf collects the names and colours of the layers, in their order, each once.
func keysOf(panels []panel) []key {
	var keys []key
	add := func(name string, c color.NRGBA) {
		if !slices.Contains(keys, key{name, c}) {
			keys = append(keys, key{name, c})
		}
	}
	for _, p := range panels {
		for _, a := range p.areas {
			add(a.name, a.color)
		}
		if len(p.areas) == 0 {
			for _, l := range p.lines {
				add(l.name, l.color)
			}
		}
	}
	return keys
}

// shareY gives the vertical axis the range of the highest panel. A figure without a single
// point loses its panels.
func (f figure) shareY() figure {
	points := 0
	lowest := math.Inf(1)
	for _, p := range f.panels {
		for _, l := range p.lines {
			points += len(l.x)
			for _, y := range l.y {
				if y > 0 {
					lowest = math.Min(lowest, y)
				}
			}
		}
		for _, a := range p.areas {
			points += len(a.x)
		}
	}
	if points == 0 {
		return figure{}
	}
	f.y.max = positive(top(f.panels))
	if f.y.log {
		f.y.min = lowEnd(lowest, f.y.max)
	}
	return f
}
