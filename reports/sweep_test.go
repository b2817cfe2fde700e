package reports

import (
	"bytes"
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/sweep"
)

// synthSweep is a sweep over nodes and schedulers, two seeds each, of which one run failed
// and one broke an invariant.
func synthSweep(t testing.TB) *metrics.Sweep {
	t.Helper()
	limit := 60.0
	s := &metrics.Sweep{
		Schema: 1, Scenario: "heartbeat-storm", Design: "grid", Command: "simctl sweep heartbeat-storm --vary nodes=50,100,200 --vary schedulers=1,2",
		Axes: []metrics.Axis{
			{Name: "nodes", Values: []string{"50", "100", "200"}, Numeric: true, Load: true},
			{Name: "schedulers", Values: []string{"1", "2"}, Numeric: true},
		},
		Brokers: []string{"legacy", "shedding"}, Seeds: []int64{1, 2},
		Limits: []metrics.Threshold{{Metric: "phases.drain.recovery_s", Max: &limit}},
	}
	for _, nodes := range []int{50, 100, 200} {
		for _, schedulers := range []int{1, 2} {
			for _, b := range s.Brokers {
				for _, seed := range s.Seeds {
					r := synthetic{nodes: nodes, seed: seed, rate: 12*float64(schedulers) + float64(seed), shedding: b == "shedding"}.result(t)
					r.Run.Params["schedulers"] = schedulers
					r.Series = nil
					s.Runs = append(s.Runs, metrics.SweepRun{
						Point: []string{strconv.Itoa(nodes), strconv.Itoa(schedulers)}, Broker: b, Seed: seed, Attempts: 1, Result: r,
						File: fmt.Sprintf("runs/%d-%d-%s-%d.json", nodes, schedulers, b, seed),
					})
				}
			}
		}
	}
	s.Runs[5].Result.Invariants[0].OK, s.Runs[5].Result.Invariants[0].Detail = false, "1 was lost"
	s.Runs[9] = metrics.SweepRun{Point: s.Runs[9].Point, Broker: s.Runs[9].Broker, Seed: s.Runs[9].Seed, Attempts: 2, Error: "the child process was killed, twice"}
	return s
}

func TestGoldenSweep(t *testing.T) {
	s := synthSweep(t)
	var out bytes.Buffer
	for _, format := range SweepFormats() {
		if err := Sweep(&out, format, s, TableOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "sweep.golden", out.Bytes())
}

// TestVerdictOfASweepIsLast, too.
func TestVerdictOfASweepIsLast(t *testing.T) {
	var out bytes.Buffer
	s := synthSweep(t)
	if err := Sweep(&out, SweepFormats()[0], s, TableOptions{Verdict: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.String(), "\n\n"+wrap(sweep.Answer(s))+"\n") {
		t.Errorf("the last lines are not %q:\n%s", sweep.Answer(s), out.String())
	}
}

func TestGoldenSweepFigures(t *testing.T) {
	s := synthSweep(t)
	var out bytes.Buffer
	for _, f := range sweep.Figures(s, []string{"phases.drain.recovery_s"}) {
		dumpFigure(&out, f)
		for _, fault := range layoutFaults(f) {
			t.Error(fault)
		}
	}
	golden(t, "sweep.figures.golden", out.Bytes())
}

// TestSweepsOfOtherDesigns draws what the golden sweep has none of: one axis, three axes,
// samples, axes alone, knees, names, and figures that nothing has.
func TestSweepsOfOtherDesigns(t *testing.T) {
	full := synthSweep(t)
	for name, change := range map[string]func(*metrics.Sweep){
		"sample": func(s *metrics.Sweep) { s.Design = "sample" },
		"alone":  func(s *metrics.Sweep) { s.Design, s.Base = "one at a time", []string{"100", "2"} },
		"own values": func(s *metrics.Sweep) {
			s.Runs = slices.DeleteFunc(s.Runs, func(r metrics.SweepRun) bool { return r.Broker == "legacy" && r.Point[1] != "2" })
		},
		"knee": func(s *metrics.Sweep) {
			s.Knees = []metrics.Knee{{Axis: "nodes", Point: []string{"", "1"}, Broker: "legacy", Passes: "50", Fails: "100"}, {Axis: "nodes", Point: []string{"", "2"}, Broker: "legacy"}}
		},
		"three axes": func(s *metrics.Sweep) {
			s.Axes = append(s.Axes, metrics.Axis{Name: "cost", Values: []string{"published", "a/b c.hcl"}})
			for i := range s.Runs {
				s.Runs[i].Point = append(slices.Clone(s.Runs[i].Point), s.Axes[2].Values[i%2])
			}
		},
		"three axes of numbers": func(s *metrics.Sweep) {
			s.Axes = append(s.Axes, metrics.Axis{Name: "servers", Numeric: true, Values: []string{"3", "5"}})
			for i := range s.Runs {
				s.Runs[i].Point = append(slices.Clone(s.Runs[i].Point), s.Axes[2].Values[i%2])
			}
		},
		"one broker": func(s *metrics.Sweep) {
			s.Brokers = s.Brokers[:1]
			s.Runs = slices.DeleteFunc(s.Runs, func(r metrics.SweepRun) bool { return r.Broker != "legacy" })
		},
		"all failed": func(s *metrics.Sweep) {
			for i := range s.Runs {
				s.Runs[i].Result, s.Runs[i].Error = nil, "out of luck"
			}
		},
		"never": func(s *metrics.Sweep) {
			for i := range s.Runs {
				if r := s.Runs[i].Result; r != nil {
					r.Phase("drain").RecoveryS = -1
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := synthSweep(t)
			*s = *full
			s.Metrics = []string{"phases.drain.plans_submitted", "latencies.none.p99"}
			s.Axes, s.Runs = slices.Clone(full.Axes), slices.Clone(synthSweep(t).Runs)
			change(s)
			if len(s.Results()) > 0 {
				titles := map[string]bool{}
				for _, f := range sweep.Figures(s, sweep.Paths(s)) {
					if titles[f.Title] {
						t.Errorf("two charts have the title %q", f.Title)
					}
					titles[f.Title] = true
					for _, fault := range layoutFaults(f) {
						t.Error(fault)
					}
				}
			}
			if name != "never" && name != "all failed" {
				return // drawing takes long, and is the same for all
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "sweep-of-old.png"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			names, err := WriteSweep(dir, s)
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range names {
				if _, err := os.Stat(filepath.Join(dir, n)); err != nil {
					t.Error(err)
				}
			}
			_, err = os.Stat(filepath.Join(dir, "sweep-of-old.png"))
			if drawn := len(s.Results()) > 0; drawn == (err == nil) {
				t.Errorf("charts were drawn: %v, and an older one is there: %v", drawn, err == nil)
			}
		})
	}
}

// TestSweepPageIsOneFile holds the page against the summary and the charts beside it, and
// looks for anything it would load.
func TestSweepPageIsOneFile(t *testing.T) {
	s := synthSweep(t)
	const evil = `</style><script>alert(1)</script>`
	s.Command = "simctl sweep " + evil
	s.Runs[0].Result, s.Runs[0].Error = nil, evil
	dir := t.TempDir()
	names, err := WriteSweep(dir, s)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, PageName))
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for _, m := range regexp.MustCompile(`(?:src|href)="([^"]{0,40})`).FindAllStringSubmatch(page, -1) {
		if !strings.HasPrefix(m[1], "data:") {
			t.Errorf("the page loads %q", m[1])
		}
	}
	if strings.Contains(page, "<script>alert") || strings.Count(page, "</style>") != 2 {
		t.Error("text of the sweep became part of the page")
	}
	charts := 0
	for _, n := range names {
		if id, isChart := strings.CutSuffix(n, ".png"); isChart {
			charts++
			if !strings.Contains(page, `<figure id="`+id+`">`) {
				t.Errorf("the page lacks the chart %s", n)
			}
		}
	}
	if charts == 0 || strings.Count(page, "<figure ") != charts {
		t.Errorf("the page has %d of %d charts", strings.Count(page, "<figure "), charts)
	}
	for _, sec := range sweep.Sections(s) {
		if !strings.Contains(page, "<h2>"+html.EscapeString(sec.Title)+"</h2>") {
			t.Errorf("the page lacks the section %q", sec.Title)
		}
	}
	if want := "<h1>" + html.EscapeString(sweep.Answer(s)) + "</h1>"; !strings.Contains(page, want) {
		t.Errorf("the title is not %s", want)
	}
}

// TestCellsFailUnrounded: a cell that looks as if it kept its limit is crossed out, and says by
// how much it fails, on the map, along the axis and in the table.
func TestCellsFailUnrounded(t *testing.T) {
	s := synthSweep(t)
	const close = 60.0004
	for i, r := range s.Runs {
		if r.Point[0] == "50" && r.Point[1] == "2" && r.Broker == "legacy" {
			s.Runs[i].Result.Phase("drain").RecoveryS = close
		}
	}
	cells := sweepFigure(t, s, "sweep-drain-recovery_s").Panels[0].Cells
	i := slices.IndexFunc(cells, func(c figure.Cell) bool { return c.X == 0 && c.Y == 1 })
	if c := cells[i]; !strings.HasSuffix(c.Label, " s") || !c.Failed || !strings.Contains(c.Detail, "60.0004 s, fails limit 1:00") {
		t.Errorf("the cell is %+v, want one that fails although it is written as its limit", c)
	}
	curve := sweepFigure(t, s, "sweep-drain-recovery_s-by-nodes").Panels
	if !slices.ContainsFunc(curve, func(p figure.Panel) bool {
		return slices.ContainsFunc(p.Crosses, func(c figure.Cross) bool { return c.X == 50 && c.Y == close })
	}) {
		t.Error("the point is not crossed out on the curve")
	}
	var out bytes.Buffer
	if err := sweep.Summary(&out, s); err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^  50 +2 +legacy +fail: 60.0004 s +`).MatchString(out.String()) {
		t.Errorf("the table does not say why the cell fails:\n%s", out.String())
	}
}

// TestCrossesOfWhatNeverCame stand at the upper edge.
func TestCrossesOfWhatNeverCame(t *testing.T) {
	s := synthSweep(t)
	s.Runs[0].Result.Phase("drain").RecoveryS = -1
	p := sweepFigure(t, s, "sweep-drain-recovery_s-by-nodes").Panels[0]
	if len(p.Crosses) == 0 || !math.IsInf(p.Crosses[0].Y, 1) || p.Crosses[0].X != 50 {
		t.Errorf("the crosses are %+v, want one at the upper edge", p.Crosses)
	}
}

// TestScalesHaveLegends: those of ratios have one in the middle, and are as long on both sides.
func TestScalesHaveLegends(t *testing.T) {
	var names []string
	for _, k := range sweepFigure(t, synthSweep(t), "sweep-drain-recovery_s-ratio").Legend {
		names = append(names, k.Name)
	}
	if len(names) != 5 || names[2] != "=" || strings.TrimLeft(names[0], "÷") != strings.TrimLeft(names[4], "×") {
		t.Errorf("the legend of ratios is %q", names)
	}
	if got := sweepFigure(t, synthSweep(t), "sweep-drain-recovery_s").Legend; len(got) != 3 {
		t.Errorf("the legend of the map is %v", got)
	}
}

// sound drops the run that failed and the invariant that did.
func sound(s *metrics.Sweep) {
	s.Runs = slices.Delete(s.Runs, 9, 10)
	s.Runs[5].Result.Invariants[0].OK = true
}

func TestAnswers(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*metrics.Sweep)
		want   string
	}{
		"limits": {func(*metrics.Sweep) {},
			"1 of 24 runs failed. Invariants failed in 1 of 24 runs. drain.recovery_s<=60 holds: legacy in 3 of 6 cells, up to nodes=100 with schedulers=2; shedding in 6 of 6 cells, up to nodes=200 with every setting"},
		"no faults": {func(s *metrics.Sweep) {
			sound(s)
			*s.Limits[0].Max = 1e6
		}, "drain.recovery_s<=1000000 holds: legacy in 6 of 6 cells, up to nodes=200 with every setting; shedding in 6 of 6 cells, up to nodes=200 with every setting"},
		"none passes": {func(s *metrics.Sweep) {
			sound(s)
			*s.Limits[0].Max = 1
		}, "drain.recovery_s<=1 holds: legacy in 0 of 6 cells; shedding in 0 of 6 cells"},
		"no limits": {func(s *metrics.Sweep) { s.Limits = nil }, "1 of 24 runs failed. Invariants failed in 1 of 24 runs. Storm: recovery of shedding, by that of legacy: no difference"},
		"nothing ran": {func(s *metrics.Sweep) {
			for i := range s.Runs {
				s.Runs[i].Result = nil
			}
		}, "24 of 24 runs failed"},
		"nothing to run": {func(s *metrics.Sweep) { s.Runs = nil }, "heartbeat-storm · grid over nodes (3) × schedulers (2) · 0 runs"},
	} {
		s := synthSweep(t)
		if tt.change(s); sweep.Answer(s) != tt.want {
			t.Errorf("%s:\ngot  %q\nwant %q", name, sweep.Answer(s), tt.want)
		}
	}
}

// sweepFigure returns one chart of the recovery of a sweep.
func sweepFigure(t *testing.T, s *metrics.Sweep, id string) figure.Figure {
	t.Helper()
	figs := sweep.Figures(s, []string{"phases.drain.recovery_s"})
	i := slices.IndexFunc(figs, func(f figure.Figure) bool { return f.ID == id })
	if i < 0 {
		t.Fatalf("there is no chart %s", id)
	}
	return figs[i]
}

// TestEffectsOfOneBroker draws an axis that has values for one broker alone in the panels of
// both.
func TestEffectsOfOneBroker(t *testing.T) {
	s := synthSweep(t)
	s.Runs = slices.DeleteFunc(s.Runs, func(r metrics.SweepRun) bool { return r.Broker == "legacy" && r.Point[1] != "2" })
	f := sweepFigure(t, s, "sweep-drain-recovery_s-effects")
	if len(f.Panels) != 2 || len(f.Y.Names) != 2 {
		t.Fatalf("%d panels of the axes %v, want two of each", len(f.Panels), f.Y.Names)
	}
	for i, want := range []bool{true, false} {
		lacks := slices.ContainsFunc(f.Panels[i].Bars, func(b figure.Bar) bool { return b.Label == "not varied" })
		if len(f.Panels[i].Bars) != 2 || lacks != want {
			t.Errorf("the panel of %s has %d bars, one of them without values: %v", f.Panels[i].Heading, len(f.Panels[i].Bars), lacks)
		}
	}
}

// TestLinesAreLabelledByTheirValues: not by round ones, between which nothing was run.
func TestLinesAreLabelledByTheirValues(t *testing.T) {
	f := sweepFigure(t, synthSweep(t), "sweep-drain-recovery_s-by-nodes")
	var labels []string
	for _, tick := range f.X.Ticks(5) {
		labels = append(labels, tick.Label)
	}
	if got := strings.Join(labels, " "); got != "50 100 200" {
		t.Errorf("the axis is labelled %q, want the values that were run", got)
	}
}
