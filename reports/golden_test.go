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
	"github.com/simctl/simctl/reports/chart"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/page"
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
		for _, f := range chart.Of(runs) {
			dumpFigure(&out, f)
		}
	}
	golden(t, "figures.golden", out.Bytes())
}

func dumpFigure(w *bytes.Buffer, f figure.Figure) {
	fmt.Fprintf(w, "figure %s: %s | %s | %s\n", f.ID, f.Title, f.Subtitle, f.Note)
	for _, a := range []struct {
		name string
		axis figure.Axis
	}{{"x", f.X}, {"y", f.Y}} {
		fmt.Fprintf(w, "  %s %q %s %.4g to %.4g log=%v %q ticks", a.name, a.axis.Label, a.axis.Unit, a.axis.Min, a.axis.Max, a.axis.Log, a.axis.Names)
		for _, t := range a.axis.Ticks(6) {
			if t.Label != "" {
				fmt.Fprintf(w, " %s", t.Label)
			}
		}
		fmt.Fprintln(w)
	}
	for _, k := range f.Legend {
		fmt.Fprintf(w, "  key %s %s\n", figure.Hex(k.Color), k.Name)
	}
	for _, p := range f.Panels {
		fmt.Fprintf(w, "  panel %q %q\n", p.Heading, p.Detail)
		for _, b := range p.Bands {
			fmt.Fprintf(w, "    phase %s %.4g to %.4g\n", b.Name, b.From, b.To)
		}
		for _, m := range p.Marks {
			fmt.Fprintf(w, "    mark %q at %.4g\n", m.Name, m.At)
		}
		for _, s := range p.Spreads {
			fmt.Fprintf(w, "    spread %s low %s high %s\n", figure.Hex(s.Color), curve(s.X, s.Low), curve(s.X, s.High))
		}
		for _, a := range p.Areas {
			fmt.Fprintf(w, "    area %s %s %s\n", figure.Hex(a.Color), a.Name, curve(a.X, a.Y))
		}
		for _, l := range p.Lines {
			fmt.Fprintf(w, "    line %s %s %s\n", figure.Hex(l.Color), l.Name, curve(l.X, l.Y))
		}
		for _, b := range p.Bars {
			fmt.Fprintf(w, "    bar %s light=%v x %.4g to %.4g y %.4g to %.4g %q %q\n", figure.Hex(b.Color), b.Light, b.X0, b.X1, b.Y0, b.Y1, b.Label, b.Detail)
		}
		for _, c := range p.Crosses {
			fmt.Fprintf(w, "    cross %s at %.4g, %.4g\n", figure.Hex(c.Color), c.X, c.Y)
		}
		for _, l := range p.Limits {
			fmt.Fprintf(w, "    limit %q at %.4g\n", l.Name, l.At)
		}
		for _, e := range p.Edges {
			fmt.Fprintf(w, "    edge %g,%g to %g,%g\n", e.X0, e.Y0, e.X1, e.Y1)
		}
		for _, c := range p.Cells {
			fmt.Fprintf(w, "    cell %d,%d %s %s failed=%v %q\n", c.X, c.Y, figure.Hex(c.Color), c.Label, c.Failed, c.Detail)
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
		fmt.Fprintf(&b, " %.4g", metrics.Series{AtS: x, Value: y}.At(from+(to-from)*float64(i)/10))
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
		if err := writeTable(&out, runs, TableOptions{}); err != nil {
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
	for _, f := range formats {
		if f.page || f.name == tableFormat { // TestGoldenTable has that one
			continue
		}
		var out bytes.Buffer
		if err := f.write(&out, runs); err != nil {
			t.Fatal(err)
		}
		golden(t, "export."+f.name+".golden", out.Bytes())
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
		if err := page.HTML(io.Discard, []*metrics.Result{r}); err != nil {
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
	figs := chart.Of(runs)
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
	if err := writeTable(&out, runs, TableOptions{}); err != nil {
		t.Fatal(err)
	}
	golden(t, "real.table.golden", out.Bytes())
}

// dumpLayout writes where every text of the drawing is, in whole points from the lower left.
func dumpLayout(w *bytes.Buffer, f figure.Figure) {
	c := &textCanvas{}
	width, height := f.Size()
	f.Draw(draw.NewCanvas(c, width, height))
	fmt.Fprintf(w, "figure %s: %.0f x %.0f\n", f.ID, width, height)
	for _, p := range c.texts {
		fmt.Fprintf(w, "  %4.0f %4.0f %s\n", p.box.Min.X, p.box.Min.Y, p.text)
	}
}
