package chart

import (
	"cmp"
	"fmt"
	"image/color"
	"math"
	"slices"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/sweep"
	"github.com/simctl/simctl/reports/wording"
)

// chart is one chart of a report. The file that defines it registers it.
type chart struct {
	rank  int    // of the charts of a report, the most telling one first
	name  string // the stem of its file, and its anchor on the page
	title string
	note  string // how to read it, where that is not plain
	// figure returns what the chart plots, less the fields above. It has no panels if the
	// runs lack what the chart is about.
	figure func(*view) figure.Figure
}

var registry []chart

// register adds a chart to every report. It is called while the package is initialised.
func register(c chart) {
	at, _ := slices.BinarySearchFunc(registry, c, func(a, b chart) int { return cmp.Compare(a.rank, b.rank) })
	registry = slices.Insert(registry, at, c)
}

// MostPanels is the largest number of runs that are drawn. Tables and exports have all of
// them.
const MostPanels = 36

// Of returns every chart that the runs have data for, the most telling one first. If the runs
// form a sweep, the charts of the sweep come first. There are no others if the runs of a sweep are too
// many for small multiples.
func Of(runs []*metrics.Result) []figure.Figure {
	if len(runs) == 0 {
		return nil
	}
	var out []figure.Figure
	if s := sweep.Of(runs); s != nil {
		out = sweep.MainFigures(s)
		if len(runs) > figure.MaxMultiples {
			return out
		}
	}
	shown := runs[:min(len(runs), MostPanels)]
	v := newView(shown)
	if len(shown) < len(runs) {
		v.subtitle = fmt.Sprintf("%s · the first %d of %s", wording.Subtitle(runs), len(shown), wording.Count(len(runs), "run"))
	}
	for _, c := range registry {
		f := c.figure(v)
		if len(f.Panels) == 0 {
			continue
		}
		f.ID, f.Title, f.Subtitle = c.name, c.title, v.subtitle
		if f.Note == "" {
			f.Note = c.note
		}
		out = append(out, f.NoteMarks())
	}
	return out
}

// view is what all charts of the same runs have in common.
type view struct {
	runs     []*metrics.Result
	labels   []string
	colors   []color.NRGBA
	subtitle string
	end      float64 // of the longest run, in seconds
}

func newView(runs []*metrics.Result) *view {
	v := &view{runs: runs, labels: wording.Labels(runs), colors: figure.RunColors(wording.Brokers(runs)), subtitle: wording.Subtitle(runs)}
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

// runKeys returns the legend of the runs themselves.
func (v *view) runKeys() []figure.Key {
	var keys []figure.Key
	for i := range v.runs {
		keys = append(keys, figure.Key{Name: v.labels[i], Color: v.colors[i]})
	}
	return keys
}

// timePanel returns an empty panel over the time of run i.
func (v *view) timePanel(i int) figure.Panel {
	p := figure.Panel{Heading: v.labels[i], Color: v.colors[i]}
	for _, ph := range v.runs[i].Phases {
		p.Bands = append(p.Bands, figure.Band{Name: ph.Name, From: ph.StartS, To: ph.EndS})
	}
	for _, m := range v.runs[i].Marks {
		p.Marks = append(p.Marks, figure.Mark{Name: m.Name, At: m.AtS})
	}
	return p
}

// timeAxis returns the horizontal axis of time that all runs share.
func (v *view) timeAxis() figure.Axis {
	name := "virtual time"
	for _, r := range v.runs {
		if r.Run.Clock != "virtual" {
			name = "time"
		}
	}
	return figure.Axis{Label: name + " " + wording.ClockFormat(v.end), Unit: figure.Instants, Max: figure.Positive(v.end)}
}
