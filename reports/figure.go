package reports

import (
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"github.com/simctl/simctl/metrics"
)

// figure is one chart as data: everything that its drawing shows and nothing of how.
type figure struct {
	id       string // stem of the file name
	title    string
	subtitle string
	note     string // how to read it, where that is not plain
	unnamed  string // marks that may lack room for their names; the page has them on hover
	x, y     axis   // shared by all panels
	panels   []panel
	legend   []key
}

// axis is a scale that all panels of a figure share.
type axis struct {
	label    string
	unit     unit
	min, max float64
	log      bool      // then min is above zero, and smaller values are drawn at min
	names    []string  // of the categories 0, 1, …; nil when the axis is numeric
	marked   []float64 // the values to label; nil = round ones
}

// unit says how values of an axis are written.
type unit int

const (
	count    unit = iota // SI prefixes
	instants             // seconds of the run, as mm:ss or h:mm
	lengths              // seconds, from µs to hours
	shares               // 0 to 1, in percent
)

// panel is one pair of axes, mostly that of one run.
type panel struct {
	heading string
	detail  string // the figure to remember
	color   color.NRGBA
	bands   []band
	marks   []mark
	spreads []spread
	areas   []area
	lines   []line
	bars    []bar
	cells   []heatCell
	edges   []edge  // between cells
	limits  []limit // across the data
}

// band is a phase: a shaded stretch of the horizontal axis.
type band struct {
	name     string
	from, to float64
}

// mark is a named instant.
type mark struct {
	name string
	at   float64
}

// line runs through points. Its slices have equal length.
type line struct {
	name   string
	color  color.NRGBA
	x, y   []float64
	dotted bool // mark the points: they are few, and nothing was measured between them
	// scattered leaves out the line between the points: they are in no order.
	scattered bool
}

// area is filled between two curves over the same points, base nil meaning zero.
type area struct {
	name    string
	color   color.NRGBA
	x, y    []float64
	base    []float64
	outline bool // stroke the upper curve
}

// spread is the shade between the lowest and the highest values, behind a line.
type spread struct {
	color        color.NRGBA
	x, low, high []float64
}

// bar is a box between two corners in data coordinates.
type bar struct {
	x0, x1, y0, y1 float64
	color          color.NRGBA
	light          bool   // in a lighter shade of its colour
	label          string // at the end of the bar: above, or right of, a horizontal one
	detail         string // above the label, where there is room
	horizontal     bool
}

// heatCell is one cell of a heat map, at category x and y.
type heatCell struct {
	x, y  int
	color color.NRGBA
	label string
}

// key explains one colour.
type key struct {
	name  string
	color color.NRGBA
}

// mostMultiples is how many small multiples one chart may have; a larger sweep is shown by
// its own figures alone.
const mostMultiples = 9

// mostPanels is how many runs are drawn at most. Tables and exports have all of them.
const mostPanels = 36

// figures returns every chart that the runs have data for.
func figures(runs []*metrics.Result) []figure {
	if len(runs) == 0 {
		return nil
	}
	var out []figure
	if s := sweepOf(runs); s != nil {
		out = reportFigures(s)
		if len(runs) > mostMultiples {
			return out
		}
	}
	shown := runs[:min(len(runs), mostPanels)]
	v := newView(shown)
	if len(shown) < len(runs) {
		v.subtitle = fmt.Sprintf("%s · the first %d of %d runs", subtitle(runs), len(shown), len(runs))
	}
	for _, f := range []figure{
		v.pendingDepth(), v.raftGrowth(), v.evalFates(), v.recovery(), v.waterfall(),
		v.queues(), v.nodes(), v.latencies(), v.fanIn(), v.utilisation(),
	} {
		if len(f.panels) > 0 {
			out = append(out, f.noteMarks())
		}
	}
	return out
}

// mostNamedMarks is how many marks of a panel can count on having room for their names.
const mostNamedMarks = 4

// noteMarks names the marks below the chart when there are more than have room in it.
func (f figure) noteMarks() figure {
	var names []string
	most := 0
	for _, p := range f.panels {
		most = max(most, len(p.marks))
		for _, m := range p.marks {
			if !slices.Contains(names, m.name) {
				names = append(names, m.name)
			}
		}
	}
	if most <= mostNamedMarks {
		return f
	}
	f.unnamed = "dashed lines, as they first come: " + strings.Join(names, ", ")
	return f
}

// view is what all figures of the same runs have in common.
type view struct {
	runs     []*metrics.Result
	labels   []string
	colors   []color.NRGBA
	subtitle string
	end      float64 // of the longest run
}

func newView(runs []*metrics.Result) *view {
	v := &view{runs: runs, labels: labels(runs), colors: runColors(runs), subtitle: subtitle(runs)}
	for _, r := range runs {
		v.end = math.Max(v.end, r.Totals.EndS)
		for _, s := range r.Series {
			if n := len(s.AtS); n > 0 {
				v.end = math.Max(v.end, s.AtS[n-1])
			}
		}
	}
	return v
}

// runKeys is the legend of the runs themselves.
func (v *view) runKeys() []key {
	var keys []key
	for i := range v.runs {
		keys = append(keys, key{v.labels[i], v.colors[i]})
	}
	return keys
}

// timePanel returns the empty panel of run i over the time of the run.
func (v *view) timePanel(i int) panel {
	p := panel{heading: v.labels[i], color: v.colors[i]}
	for _, ph := range v.runs[i].Phases {
		p.bands = append(p.bands, band{ph.Name, ph.StartS, ph.EndS})
	}
	for _, m := range v.runs[i].Marks {
		p.marks = append(p.marks, mark{m.Name, m.AtS})
	}
	return p
}

// timeAxis returns the horizontal axis that all runs share.
func (v *view) timeAxis() axis {
	name := "virtual time"
	for _, r := range v.runs {
		if r.Run.Clock != "virtual" {
			name = "time"
		}
	}
	return axis{label: name + " " + clockFormat(v.end), unit: instants, max: positive(v.end)}
}

// positive keeps an axis from being empty, or as short as floating point numbers get.
func positive(v float64) float64 {
	if v > 1e-9 {
		return v
	}
	return 1
}

// decades is how far a logarithmic axis reaches down from its highest value: more than
// nine powers of ten are no chart, and zero is out of reach.
const decades = 1e9

// lowEnd returns the lower end of a logarithmic axis for values of at least lowest.
func lowEnd(lowest, highest float64) float64 {
	return math.Min(math.Max(lowest, highest/decades), highest/2)
}

// top returns the highest value of any line, area or bar in the panels.
func top(panels []panel) float64 {
	highest := 0.0
	for _, p := range panels {
		highest = math.Max(highest, p.top())
	}
	return highest
}

func (p panel) top() float64 {
	highest := 0.0
	up := func(values []float64) {
		if len(values) > 0 {
			highest = math.Max(highest, slices.Max(values))
		}
	}
	for _, l := range p.lines {
		up(l.y)
	}
	for _, a := range p.areas {
		up(a.y)
	}
	for _, b := range p.bars {
		up([]float64{b.y0, b.y1})
	}
	return highest
}

// wideRange is from which ratio on the smaller of two values can no longer be seen beside
// the larger on a linear axis.
const wideRange = 100

// tooWide reports whether the values, those above zero, need a logarithmic axis.
func tooWide(values []float64) bool {
	lowest, highest := math.Inf(1), 0.0
	for _, v := range values {
		if v > 0 {
			lowest, highest = math.Min(lowest, v), math.Max(highest, v)
		}
	}
	return highest > wideRange*lowest
}
