package reports

import (
	"fmt"
	"image"
	"image/color"
	"io"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"pgregory.net/rapid"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/chart"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/page"
)

// textCanvas is a canvas that only remembers where text went.
type textCanvas struct {
	angles []float64
	texts  []placedText
}

type placedText struct {
	text string
	box  vg.Rectangle
}

func (c *textCanvas) SetLineWidth(vg.Length)              {}
func (c *textCanvas) SetLineDash([]vg.Length, vg.Length)  {}
func (c *textCanvas) SetColor(color.Color)                {}
func (c *textCanvas) Stroke(vg.Path)                      {}
func (c *textCanvas) DrawImage(vg.Rectangle, image.Image) {}
func (c *textCanvas) Push()                               { c.angles = append(c.angles, c.angle()) }
func (c *textCanvas) Pop()                                { c.angles = c.angles[:len(c.angles)-1] }
func (c *textCanvas) Rotate(rad float64)                  { c.angles[len(c.angles)-1] += rad }
func (c *textCanvas) Translate(vg.Point)                  { panic("no text is translated") }
func (c *textCanvas) Scale(x, y float64)                  { panic("no text is scaled") }
func (c *textCanvas) Fill(p vg.Path)                      { finite(p) }
func (c *textCanvas) FillString(f font.Face, at vg.Point, s string) {
	size := f.Font.Size
	corners := []vg.Point{{X: at.X, Y: at.Y - 0.2*size}, {X: at.X + f.Width(s), Y: at.Y + 0.72*size}}
	sin, cos := math.Sincos(c.angle())
	var box vg.Rectangle
	for i, p := range corners {
		q := vg.Point{X: p.X*vg.Length(cos) - p.Y*vg.Length(sin), Y: p.X*vg.Length(sin) + p.Y*vg.Length(cos)}
		if i == 0 {
			box = vg.Rectangle{Min: q, Max: q}
		}
		box.Min = vg.Point{X: min(box.Min.X, q.X), Y: min(box.Min.Y, q.Y)}
		box.Max = vg.Point{X: max(box.Max.X, q.X), Y: max(box.Max.Y, q.Y)}
	}
	c.texts = append(c.texts, placedText{s, box})
}

func (c *textCanvas) angle() float64 {
	if len(c.angles) == 0 {
		return 0
	}
	return c.angles[len(c.angles)-1]
}

func finite(p vg.Path) {
	for _, comp := range p {
		if x, y := float64(comp.Pos.X), float64(comp.Pos.Y); math.IsNaN(x+y) || math.IsInf(x+y, 0) {
			panic(fmt.Sprintf("drawing to %v", comp.Pos))
		}
	}
}

// layoutFaults draws a figure and returns what is wrong with where its text is.
func layoutFaults(f figure.Figure) []string {
	c := &textCanvas{}
	w, h := f.Size()
	f.Draw(draw.NewCanvas(c, w, h))
	var faults []string
	for i, a := range c.texts {
		if a.box.Min.X < -0.5 || a.box.Min.Y < -0.5 || a.box.Max.X > w+0.5 || a.box.Max.Y > h+0.5 {
			faults = append(faults, fmt.Sprintf("%s: %q leaves the picture: %v of %v×%v", f.ID, a.text, a.box, w, h))
		}
		for _, b := range c.texts[:i] {
			if a.box.Min.X < b.box.Max.X-0.5 && b.box.Min.X < a.box.Max.X-0.5 && a.box.Min.Y < b.box.Max.Y-0.5 && b.box.Min.Y < a.box.Max.Y-0.5 {
				faults = append(faults, fmt.Sprintf("%s: %q overlaps %q", f.ID, a.text, b.text))
			}
		}
	}
	return faults
}

func TestLayout(t *testing.T) {
	pair := published(t)
	third := synthetic{nodes: 5000, seed: 2, rate: 20.8, shedding: true}.result(t)
	long := synthetic{nodes: 300, seed: 1, rate: 40}.result(t)
	long.Run.Broker = strings.Repeat("a-policy-with-a-very-long-name-", 4)
	long.Run.Scenario = strings.Repeat("a-scenario-with-a-very-long-name-", 5)
	long.Phases[1].Name = "a phase with a name that is much too long for any chart there is, really"
	many := synthetic{nodes: 300, seed: 1, rate: 40}.result(t)
	for i := range 40 {
		many.Marks = append(many.Marks, metrics.Mark{AtS: float64(i * 3), Name: fmt.Sprintf("leader of partition %d fails", i)})
	}
	brief := &metrics.Result{Schema: 1, Run: metrics.Run{Scenario: "s", Broker: "legacy", Clock: "wall", Target: "nomad 1.4.3"},
		Phases: []metrics.Phase{{Name: "only", EndS: 0.004, EvalsProcessed: 1, QueueEmptyS: 0.001, RecoveryS: 0.002}},
		Series: []metrics.Series{{Name: metrics.SeriesPending, AtS: []float64{0, 0.004}, Value: []float64{1, 0}}}}
	brief.Totals = metrics.Totals(brief.Phases)
	eleven := pair
	for i := range 9 {
		eleven = append(slices.Clone(eleven), synthetic{nodes: 5000, seed: int64(i + 2), rate: 20.8}.result(t))
	}
	var hundred []*metrics.Result
	for i := range 100 {
		r := *brief
		r.Run.Seed = int64(i)
		hundred = append(hundred, &r)
	}
	for name, runs := range map[string][]*metrics.Result{
		"hundred":    hundred,
		"one":        pair[:1],
		"two":        pair,
		"three":      {pair[0], pair[1], third},
		"four":       {pair[0], pair[1], third, third},
		"eleven":     eleven,
		"long names": {long, pair[1]},
		"many marks": {many, pair[1]},
		"brief":      {brief, brief},
		"sweep":      sweepRuns(t, true),
		"flat sweep": sweepRuns(t, false),
	} {
		t.Run(name, func(t *testing.T) {
			figs := chart.Of(runs)
			if len(figs) == 0 {
				t.Fatal("nothing was drawn")
			}
			for _, f := range figs {
				if n := len(f.Panels); n > chart.MostPanels {
					t.Errorf("%s has %d panels", f.ID, n)
				}
				for _, fault := range layoutFaults(f) {
					t.Error(fault)
				}
			}
		})
	}
}

// sweepRuns varies the nodes and, if both, the schedulers.
func sweepRuns(t testing.TB, both bool) []*metrics.Result {
	var runs []*metrics.Result
	for _, shedding := range []bool{false, true} {
		for _, nodes := range []int{50, 100, 200, 400} {
			for _, schedulers := range []int{1, 2, 4} {
				if !both && schedulers != 2 {
					continue
				}
				r := synthetic{nodes: nodes, seed: 1, rate: float64(20 * schedulers), shedding: shedding}.result(t)
				r.Run.Params["schedulers"] = schedulers
				runs = append(runs, r)
			}
		}
	}
	return runs
}

// TestFiguresOfExtremes draws numbers at the ends of what floating point has: ticks must
// come to an end and stay within the picture.
func TestFiguresOfExtremes(t *testing.T) {
	for _, v := range []float64{math.SmallestNonzeroFloat64, 1e-300, 1e-12, 1e17, 1e300} {
		var runs []*metrics.Result
		for i, share := range []float64{1, 1e-3} {
			r := &metrics.Result{Schema: 1, Run: metrics.Run{Scenario: "s", Broker: fmt.Sprint("b", i), Clock: "virtual"}}
			for _, name := range []string{metrics.SeriesPending, metrics.SeriesRaftIndex, metrics.SeriesCompleted, metrics.SeriesCPU} {
				r.Series = append(r.Series, metrics.Series{Name: name, AtS: []float64{0, 1}, Value: []float64{0, v * share}})
			}
			d := metrics.Distribution{LE: []float64{v / 1e4, v}, Count: []uint64{1, 2}}
			if d.LE[0] < d.LE[1] {
				r.FanIn.Distribution, r.Latencies = d, []metrics.Latency{{Name: metrics.LatencyWait, Distribution: d}}
			}
			r.Phases = []metrics.Phase{{Name: "drain", EvalsProcessed: 1, RecoveryS: v * share, QueueEmptyS: v / 10}}
			r.Totals = metrics.Totals(r.Phases)
			runs = append(runs, r)
		}
		for _, f := range chart.Of(runs) {
			for _, fault := range layoutFaults(f) {
				t.Errorf("%g: %s", v, fault)
			}
		}
		if err := page.HTML(io.Discard, runs); err != nil {
			t.Error(err)
		}
	}
}

// TestFiguresOfAnything draws results of any shape: none may bring the drawing down or its
// texts into each other's way.
func TestFiguresOfAnything(t *testing.T) {
	amount := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(-10, 1), rapid.Float64Range(0, 2e5), rapid.Float64Range(0, 1e15))
	length := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, 0.01), rapid.Float64Range(0, 100), rapid.Float64Range(0, 2e6))
	when := rapid.OneOf(rapid.Just(-1.0), rapid.Just(0.0), length)
	rapid.Check(t, func(t *rapid.T) {
		var runs []*metrics.Result
		for i := range rapid.IntRange(1, 5).Draw(t, "runs") {
			r := &metrics.Result{Schema: 1, Run: metrics.Run{Scenario: "any", Broker: fmt.Sprintf("broker%d", i), Clock: "virtual"}}
			now := 0.0
			for j := range rapid.IntRange(0, 4).Draw(t, "phases") {
				p := metrics.Phase{Name: fmt.Sprintf("phase%d", j), StartS: now, EvalsProcessed: uint64(j), RecoveryS: when.Draw(t, "recovery"),
					QueueEmptyS: when.Draw(t, "empty"), CancelsWrittenS: when.Draw(t, "cancels"), AllocsReplacedS: when.Draw(t, "replaced")}
				now += length.Draw(t, "length")
				p.EndS = now
				r.Phases = append(r.Phases, p)
				r.Marks = append(r.Marks, metrics.Mark{AtS: now, Name: "mark"})
			}
			r.Totals = metrics.Totals(r.Phases)
			for _, name := range []string{metrics.SeriesPending, metrics.SeriesReady, metrics.SeriesRaftIndex, metrics.SeriesCompleted,
				metrics.SeriesEntriesPrefix + metrics.EntryEvalUpdate, metrics.SeriesNodesReady, metrics.SeriesCPU} {
				s := metrics.Series{Name: name}
				at := 0.0
				for range rapid.IntRange(0, 5).Draw(t, "points") {
					s.AtS, s.Value = append(s.AtS, at), append(s.Value, amount.Draw(t, "value"))
					at += length.Draw(t, "step")
				}
				r.Series = append(r.Series, s)
			}
			d := metrics.Distribution{}
			le := 0.0
			for j := range rapid.IntRange(0, 4).Draw(t, "buckets") {
				le += length.Draw(t, "le") + 1e-6
				d.LE, d.Count = append(d.LE, le), append(d.Count, uint64(j+1))
			}
			r.Latencies = []metrics.Latency{{Name: metrics.LatencyWait, Distribution: d}}
			r.FanIn.Distribution = d
			runs = append(runs, r)
		}
		for _, f := range chart.Of(runs) {
			if faults := layoutFaults(f); len(faults) > 0 {
				t.Fatal(strings.Join(faults, "\n"))
			}
		}
		if err := page.HTML(io.Discard, runs); err != nil {
			t.Fatal(err)
		}
	})
}
