package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/simctl/simctl/internal/nightly"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/metrics/agreement"
	"github.com/simctl/simctl/scenarios"
)

func TestMain(m *testing.M) {
	scenarios.ServeIfChild()
	os.Exit(m.Run())
}

const committed = "../../docs/validation/"

var embedded = regexp.MustCompile(`!\[.*\]\((.*)\)`)

// TestPageIsUpToDate: the page has a heading and a picture of every run in testdata/validation, with what its
// README says, and no picture is left over.
func TestPageIsUpToDate(t *testing.T) {
	page, err := os.ReadFile(committed + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	const data = "../../testdata/validation"
	says := func(dir string) {
		if about, err := text(dir); err != nil || !bytes.Contains(page, about) {
			t.Errorf("the page does not have the text of %s/README.md (%v): run make validate", dir, err)
		}
	}
	says(data)
	want := []string{"deviations." + pictures}
	for _, machine := range machines {
		says(filepath.Join(data, machine.dir))
		runs, err := measured(data, machine.dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, real := range agreement.Repeats(runs) {
			g := group{name: name(real[0]) + machine.suffix}
			want = append(want, g.id()+"."+pictures)
			if !bytes.Contains(page, []byte("### "+g.name+"\n")) {
				t.Errorf("the page has no heading %q: run make validate", g.name)
			}
		}
	}
	var got []string
	for _, m := range embedded.FindAllSubmatch(page, -1) {
		got = append(got, string(m[1]))
	}
	files, err := filepath.Glob(committed + "*." + pictures)
	if err != nil {
		t.Fatal(err)
	}
	for i := range files {
		files[i] = filepath.Base(files[i])
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) || !slices.Equal(files, want) {
		t.Errorf("the page shows\n%q,\nthe directory has\n%q, want\n%q: run make validate", got, files, want)
	}
}

// TestRealRepeats: the same runs make the same page and pictures, bit by bit.
func TestRealRepeats(t *testing.T) {
	if all := machines; !nightly.On { // two are as good as all
		machines = all[:2]
		t.Cleanup(func() { machines = all })
	}
	data := t.TempDir()
	specs := repeats(scenarios.Spec{Scenario: usualScenario, Broker: "1.4.3", Vars: map[string]any{"nodes": 10}})
	runs, err := scenarios.RunAll(t.Context(), specs, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, machine := range machines {
		if err := os.MkdirAll(filepath.Join(data, machine.dir), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, r := range runs[:min(i+1, len(runs))] {
			r.Run.Target = "1.4.3"
			if err := r.WriteFile(filepath.Join(data, machine.dir, r.Run.Target+"-"+string(rune('0'+r.Run.Seed))+".json")); err != nil {
				t.Fatal(err)
			}
		}
	}
	cost, err := os.ReadFile("../../testdata/validation/real/machine.hcl")
	if err != nil {
		t.Fatal(err)
	}
	for _, machine := range machines {
		if err := os.WriteFile(filepath.Join(data, machine.dir, "machine.hcl"), cost, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	about := "# A title\n\nSee [the other](../real/README.md).\n"
	if err := os.WriteFile(filepath.Join(data, "second/README.md"), []byte(about), 0o644); err != nil {
		t.Fatal(err)
	}
	var texts []string
	dirs := []string{t.TempDir(), t.TempDir()}
	for _, dir := range dirs {
		all, err := groups(t.Context(), data)
		if err != nil {
			t.Fatal(err)
		}
		var p page
		if err := p.real(all, data, dir); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, p.String())
	}
	if texts[0] != texts[1] {
		for i, line := range strings.Split(texts[0], "\n") {
			if other := strings.Split(texts[1], "\n"); i >= len(other) || line != other[i] {
				t.Fatalf("line %d of the page is %q, and then another", i+1, line)
			}
		}
		t.Fatal("the page is longer the second time")
	}
	for _, want := range []string{
		"### 1.4.3 · 10 nodes\n", "### 1.4.3 · 10 nodes · 2nd machine\n", "2 real runs, 3 simulated (machine)",
		"See [the other](../../testdata/validation/real/README.md).\n", "(deviations." + pictures + ")", "(1.4.3-10-nodes-2nd-machine." + pictures + ")",
	} {
		if !strings.Contains(texts[0], want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	files, err := filepath.Glob(filepath.Join(dirs[0], "*"))
	if err != nil || len(files) != 1+len(machines) {
		t.Fatalf("%d pictures, %v: %q", len(files), err, files)
	}
	for _, file := range files {
		one, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		other, err := os.ReadFile(filepath.Join(dirs[1], filepath.Base(file)))
		if err != nil || !bytes.Equal(one, other) {
			t.Errorf("%s differs (%v)", filepath.Base(file), err)
		}
	}
}

// TestDeviations: a point lies at its deviation in the row of its group, and a cross marks what is off the chart.
func TestDeviations(t *testing.T) {
	report := func(drain, storm float64) *agreement.Report {
		row := func(metric string, off float64) []agreement.Row {
			return []agreement.Row{{Metric: metric, Deviation: &off}}
		}
		return &agreement.Report{Phases: []agreement.Phase{{Name: "drain", Rows: row("raft_entries", drain)}, {Name: "storm", Rows: row("recovery_s", storm)}}}
	}
	f := deviations([]group{{0, "first", report(-0.04, 0.5)}, {1, "last", report(0.2, -0.1)}})
	entries, times := f.Panels[0], f.Panels[1]
	if !slices.Equal(f.Y.Names, []string{"last", "first"}) {
		t.Errorf("the rows are %q, from below", f.Y.Names)
	}
	if drain := entries.Lines[1]; !slices.Equal(drain.X, []float64{-0.04, 0.2}) || !slices.Equal(drain.Y, []float64{1, 0}) {
		t.Errorf("the entries of drains are %+v", drain)
	}
	if storm := times.Lines[2]; !slices.Equal(storm.X, []float64{-0.1}) || !slices.Equal(storm.Y, []float64{0}) {
		t.Errorf("the times of storms are %+v", storm)
	}
	if len(entries.Crosses) != 0 || len(times.Crosses) != 1 || times.Crosses[0].X != 0.5 || times.Crosses[0].Y != 1 {
		t.Errorf("crosses: %+v and %+v", entries.Crosses, times.Crosses)
	}
}

// TestName: what is not usual of a run is in its name.
func TestName(t *testing.T) {
	for want, params := range map[string]map[string]any{
		"2.0.5 · 1,000 nodes · reports":                       {"servers": 3, "schedulers": 2, "system_jobs": 10, "report_allocations": true},
		"2.0.5 · 1,000 nodes · 1 server · shared connections": {"servers": 1, "client_connections": 16, "report_allocations": true},
		"2.0.5 · 1,000 nodes · 4 schedulers · 20 system jobs": {"schedulers": 4, "system_jobs": 20},
	} {
		if got := name(&metrics.Result{Run: metrics.Run{Scenario: usualScenario, Target: "2.0.5", Nodes: 1000, Params: params}}); got != want {
			t.Errorf("%v: the name is %q, want %q", params, got, want)
		}
	}
}
