package reports

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg/draw"

	"github.com/simctl/simctl/metrics"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares with a file in testdata; -update rewrites it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	gotLines, wantLines := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range max(len(gotLines), len(wantLines)) {
		g, w := "(end)", "(end)"
		if i < len(gotLines) {
			g = gotLines[i]
		}
		if i < len(wantLines) {
			w = wantLines[i]
		}
		if g != w {
			t.Fatalf("%s, line %d:\n got %s\nwant %s\n(-update rewrites it)", path, i+1, g, w)
		}
	}
}

// TestGoldenFigures pins what the charts plot: ranges, phases, marks, and every curve at
// eleven instants.
func TestGoldenFigures(t *testing.T) {
	var out bytes.Buffer
	for _, runs := range [][]*metrics.Result{published(t), sweepRuns(t, true), sweepRuns(t, false)[:3]} {
		for _, f := range figures(runs) {
			dumpFigure(&out, f)
		}
	}
	golden(t, "figures.golden", out.Bytes())
}

func dumpFigure(w *bytes.Buffer, f figure) {
	fmt.Fprintf(w, "figure %s: %s | %s | %s\n", f.id, f.title, f.subtitle, f.note)
	for _, a := range []struct {
		name string
		axis
	}{{"x", f.x}, {"y", f.y}} {
		fmt.Fprintf(w, "  %s %q %s %.4g to %.4g log=%v %q ticks", a.name, a.label, unitNames[a.unit], a.min, a.max, a.log, a.names)
		for _, t := range a.ticks(6) {
			if t.Label != "" {
				fmt.Fprintf(w, " %s", t.Label)
			}
		}
		fmt.Fprintln(w)
	}
	for _, k := range f.legend {
		fmt.Fprintf(w, "  key %s %s\n", hex(k.color), k.name)
	}
	for _, p := range f.panels {
		fmt.Fprintf(w, "  panel %q %q\n", p.heading, p.detail)
		for _, b := range p.bands {
			fmt.Fprintf(w, "    phase %s %.4g to %.4g\n", b.name, b.from, b.to)
		}
		for _, m := range p.marks {
			fmt.Fprintf(w, "    mark %q at %.4g\n", m.name, m.at)
		}
		for _, s := range p.spreads {
			fmt.Fprintf(w, "    spread %s low %s high %s\n", hex(s.color), curve(s.x, s.low), curve(s.x, s.high))
		}
		for _, a := range p.areas {
			fmt.Fprintf(w, "    area %s %s %s\n", hex(a.color), a.name, curve(a.x, a.y))
		}
		for _, l := range p.lines {
			fmt.Fprintf(w, "    line %s %s %s\n", hex(l.color), l.name, curve(l.x, l.y))
		}
		for _, b := range p.bars {
			fmt.Fprintf(w, "    bar %s light=%v x %.4g to %.4g y %.4g to %.4g %q %q\n", hex(b.color), b.light, b.x0, b.x1, b.y0, b.y1, b.label, b.detail)
		}
		for _, l := range p.limits {
			fmt.Fprintf(w, "    limit %q at %.4g\n", l.name, l.at)
		}
		for _, e := range p.edges {
			fmt.Fprintf(w, "    edge %g,%g to %g,%g\n", e.x0, e.y0, e.x1, e.y1)
		}
		for _, c := range p.cells {
			fmt.Fprintf(w, "    cell %d,%d %s %s\n", c.x, c.y, hex(c.color), c.label)
		}
	}
}

// curve writes a curve's range and its values at every tenth of it.
func curve(x, y []float64) string {
	if len(x) == 0 {
		return "(empty)"
	}
	from, to := x[0], x[len(x)-1]
	var b strings.Builder
	fmt.Fprintf(&b, "%.4g..%.4g:", from, to)
	for i := range 11 {
		fmt.Fprintf(&b, " %.4g", valueAt(metrics.Series{AtS: x, Value: y}, from+(to-from)*float64(i)/10))
	}
	return b.String()
}

func TestGoldenTable(t *testing.T) {
	var out bytes.Buffer
	pair := published(t)
	third := synthetic{nodes: 5000, seed: 2, rate: 20.8, shedding: true}.result(t)
	third.Invariants[1].OK, third.Invariants[1].Detail = false, "job-3 had two at 0:42"
	third.Thresholds = []metrics.Verdict{{Run: "shedding", Metric: "totals.raft_entries", Demand: "<= 250", Value: 33066}}
	for _, runs := range [][]*metrics.Result{pair, pair[:1], {pair[0], pair[1], third}, {pair[1], third}} {
		if err := Table(&out, runs, TableOptions{}); err != nil {
			t.Fatal(err)
		}
		out.WriteString("~~~\n")
	}
	golden(t, "table.golden", out.Bytes())
}

// TestGoldenExports pins the text formats on small runs without their long series.
func TestGoldenExports(t *testing.T) {
	var runs []*metrics.Result
	for _, shedding := range []bool{false, true} {
		r := synthetic{nodes: 100, seed: 1, rate: 20.8, shedding: shedding}.result(t)
		for i := range r.Series {
			r.Series[i] = r.Series[i].Thin(4)
		}
		runs = append(runs, r)
	}
	for name, write := range writers {
		var out bytes.Buffer
		if err := write(&out, runs); err != nil {
			t.Fatal(err)
		}
		golden(t, "export."+name+".golden", out.Bytes())
	}
}

// digestsOfOldFiles are those of the Result files in testdata/results, whose names begin
// with their schema. The files never change: a later simctl must read them as the one that
// wrote them did.
var digestsOfOldFiles = map[string]string{
	"schema1-legacy.json":   "01a43d9a6ce600b269a11262ae1a8aae8381f919cbd2cfc687afb944de201a5b",
	"schema1-shedding.json": "96d53dd3dd40ab352390b5f8a12ae7629d3d97e1378978dc2358cca4bcf270af",
}

func TestResultsStayReadable(t *testing.T) {
	dir := filepath.Join("..", "testdata", "results")
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(digestsOfOldFiles) {
		t.Errorf("%s holds %d files, of which %d have a digest here", dir, len(entries), len(digestsOfOldFiles))
	}
	for name, want := range digestsOfOldFiles {
		r, err := metrics.Load(filepath.Join(dir, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if got := r.Digest(); got != want {
			t.Errorf("%s reads as %s, want %s", name, got, want)
		}
		if err := HTML(io.Discard, []*metrics.Result{r}); err != nil {
			t.Errorf("no page of %s: %v", name, err)
		}
	}
	present, _ := filepath.Glob(filepath.Join(dir, fmt.Sprintf("schema%d-*", metrics.Schema)))
	if len(present) == 0 {
		t.Errorf("%s holds no file of the present schema, %d", dir, metrics.Schema)
	}
}

// realRuns returns the Results of two runs that took place:
//
//	simctl scenario heartbeat-storm --nodes 100 --service-jobs 2 --allocs-per-node 2 --fraction 0.5
func realRuns(t testing.TB) []*metrics.Result {
	t.Helper()
	var runs []*metrics.Result
	for _, name := range []string{"real-legacy.json", "real-shedding.json"} {
		r, err := metrics.Load(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, r)
	}
	return runs
}

// TestGoldenRealRun pins what the charts and the table make of a real pair of runs, in
// which every chart has something to show.
func TestGoldenRealRun(t *testing.T) {
	runs := realRuns(t)
	var out bytes.Buffer
	figs := figures(runs)
	if len(figs) != 10 {
		t.Errorf("%d charts, want all 10", len(figs))
	}
	for _, f := range figs {
		dumpFigure(&out, f)
		for _, fault := range layoutFaults(f) {
			t.Error(fault)
		}
	}
	golden(t, "real.figures.golden", out.Bytes())
	out.Reset()
	for _, f := range figs {
		dumpLayout(&out, f)
	}
	golden(t, "real.layout.golden", out.Bytes())
	out.Reset()
	if err := Table(&out, runs, TableOptions{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "real.table.golden", out.Bytes())
}

// dumpLayout writes where every text of the drawing is, in whole points from the lower left.
func dumpLayout(w *bytes.Buffer, f figure) {
	c := &textCanvas{}
	width, height := f.size()
	f.draw(draw.NewCanvas(c, width, height))
	fmt.Fprintf(w, "figure %s: %.0f x %.0f\n", f.id, width, height)
	for _, p := range c.texts {
		fmt.Fprintf(w, "  %4.0f %4.0f %s\n", p.box.Min.X, p.box.Min.Y, p.text)
	}
}
