package reports

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/metrics/agreement"
	"github.com/simctl/simctl/reports/chart"
)

// stormOf returns a run of one phase, which began at 5 s and wrote so many entries, evenly.
func stormOf(target string, seed int64, entries uint64, length, recovery float64) *metrics.Result {
	r := &metrics.Result{
		Run: metrics.Run{Scenario: "heartbeat-storm", Broker: "nomad-" + target, Target: target, Seed: seed, Clock: "wall", Nodes: 50},
		Phases: []metrics.Phase{{
			Name: "storm", StartS: 5, EndS: 5 + length, RecoveryS: recovery, RaftEntries: entries, EvalsCreated: 500,
			RaftEntriesByType: map[string]uint64{metrics.EntryEvalUpdate: entries}, EvalsByStatus: map[string]uint64{"complete": 500},
		}},
		Series: []metrics.Series{
			{Name: metrics.SeriesRaftIndex, AtS: []float64{0, 5, 5 + length, 9 + length}, Value: []float64{10, 100, 100 + float64(entries), 9999}},
			{Name: metrics.SeriesPending, AtS: []float64{5, 5 + length}, Value: []float64{0, 0}},
		},
	}
	if target == "simulated" {
		r.Run.CostModel = &metrics.CostModel{Class: "loopback"}
	} else {
		r.Series = append(r.Series, metrics.Series{Name: metrics.SeriesMemoryRead, AtS: []float64{0, 5 + length}, Value: []float64{0, 198.4}},
			metrics.Series{Name: metrics.SeriesStolen, AtS: []float64{0, 5 + length}, Value: []float64{0, 0.05}})
	}
	return r
}

func validated() *agreement.Report {
	return agreement.Of(
		[]*metrics.Result{stormOf("1.4.3", 1, 1011, 32.9, 27.8)},
		[]*metrics.Result{stormOf("simulated", 1, 1061, 30.6, 25.4), stormOf("simulated", 2, 1083, 32.8, -1), stormOf("simulated", 3, 1074, 32.6, 27.5)})
}

func TestValidation(t *testing.T) {
	for format, want := range map[string]string{
		"table": `heartbeat-storm · 50 nodes · seed 1 · wall time ·
1.4.3: 1 real run, 3 simulated (loopback)

storm                 real    simulated                  deviation  within spread
  duration            32.9 s  32.6 s (30.6 s to 32.8 s)  -0.9%      yes
  Raft entries        1,011   1,074 (1,061 to 1,083)     +6.2%      no
  evals created       500     500                        +0.0%      yes
  recovery            27.8 s  never to 27.5 s            -          no
  entries EvalUpdate  1,011   1,074 (1,061 to 1,083)     +6.2%      no
  evals complete      500     500                        +0.0%      yes
  memory read         198 ns
  cores stolen        1.6 s

3 of 6 figures within the spread of repeats; half deviate by at most 0.912%, the
worst by 6.23%
`,
		"markdown": `heartbeat-storm · 50 nodes · seed 1 · wall time · 1.4.3: 1 real run, 3 simulated (loopback)

3 of 6 figures within the spread of repeats; half deviate by at most 0.912%, the worst by 6.23%.

| storm | real | simulated | deviation | within spread |
|---|---:|---:|---:|---:|
| duration | 32.9 s | 32.6 s (30.6 s to 32.8 s) | -0.9% | yes |
| Raft entries | 1,011 | 1,074 (1,061 to 1,083) | +6.2% | no |
| evals created | 500 | 500 | +0.0% | yes |
| recovery | 27.8 s | never to 27.5 s | - | no |
| entries EvalUpdate | 1,011 | 1,074 (1,061 to 1,083) | +6.2% | no |
| evals complete | 500 | 500 | +0.0% | yes |
| memory read | 198 ns | | | |
| cores stolen | 1.6 s | | | |
`,
	} {
		var got bytes.Buffer
		if err := Validation(&got, format, []*agreement.Report{validated()}); err != nil || got.String() != want {
			t.Errorf("%s, %v:\n%s\nwant\n%s", format, err, got.String(), want)
		}
	}
	if err := Validation(&bytes.Buffer{}, "html", nil); err == nil {
		t.Error("a format that is unknown")
	}
}

func TestWriteValidation(t *testing.T) {
	dir := t.TempDir()
	names, err := WriteValidation(dir, []*agreement.Report{validated(), validated()})
	want := []string{"validation.txt", "validation.md", "validation.json", "raft-storm-1.png", "raft-storm-2.png"}
	if err != nil || !slices.Equal(names, want) {
		t.Fatalf("wrote %v, %v, want %v", names, err, want)
	}
	text, err := os.ReadFile(filepath.Join(dir, "validation.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []agreement.Report
	if err := json.Unmarshal(text, &all); err != nil || len(all) != 2 || all[0].Cost != "loopback" || len(all[0].Phases[0].Rows) != 6 {
		t.Errorf("it reads as %+v, %v", all, err)
	}
}

// TestOverlay: a chart holds the phase alone, from its beginning on, and quantities that move.
func TestOverlay(t *testing.T) {
	v := validated()
	figs := chart.Overlay(v.Real, v.Simulated)
	if len(figs) != 1 || figs[0].ID != "raft-storm" {
		t.Fatalf("got %d charts: %+v", len(figs), figs)
	}
	lines := figs[0].Panels[0].Lines
	if len(lines) != 4 || lines[0].Name != "simulated" || lines[3].Name != "real" {
		t.Fatalf("the lines are %+v, want those of the simulation below the real one", lines)
	}
	if real := lines[3]; !slices.Equal(real.X, []float64{0, 32.9}) || !slices.Equal(real.Y, []float64{0, 1011}) {
		t.Errorf("the real line is %v, %v", real.X, real.Y)
	}
	if figs[0].X.Max != 32.9 || figs[0].Y.Max != 1083 {
		t.Errorf("the axes end at %v and %v", figs[0].X.Max, figs[0].Y.Max)
	}
}

// TestOverlayHidesNobody: the lines of the side with fewer runs lie over those of the other.
func TestOverlayHidesNobody(t *testing.T) {
	v := validated()
	for _, tt := range []struct {
		real  int
		above string
	}{{1, "real"}, {3, "real"}, {4, "simulated"}} {
		p := chart.Overlay(slices.Repeat(v.Real, tt.real), v.Simulated)[0].Panels[0]
		if last := p.Lines[len(p.Lines)-1]; last.Name != tt.above || len(p.Lines) != tt.real+3 {
			t.Errorf("%d real runs and 3 simulated: %d lines, of which %s lie above the others; want %s", tt.real, len(p.Lines), last.Name, tt.above)
		}
	}
}
