package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/simctl/simctl/internal/madeby"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/designs"
)

// result writes the Result of a run that never took place.
func result(t *testing.T, dir, scenario, broker string, nodes int, entries uint64, ok bool) {
	t.Helper()
	ph := metrics.Phase{Name: map[string]string{storm: "storm", flapping: "flap", failover: "drain"}[scenario], EndS: 10, RaftEntries: entries, EvalsProcessed: 1,
		QueueEmptyS: 2, RecoveryS: 3, RaftEntriesByType: map[string]uint64{}, EvalsByStatus: map[string]uint64{"complete": 7, "canceled": entries}}
	r := &metrics.Result{
		Schema: metrics.Schema, Run: metrics.Run{Scenario: scenario, Broker: broker, Clock: "virtual", Seed: 1, Params: map[string]any{"nodes": nodes}},
		Phases: []metrics.Phase{ph}, Totals: metrics.Totals([]metrics.Phase{ph}),
		Series: []metrics.Series{
			{Name: metrics.SeriesPending, Unit: "evaluations", AtS: []float64{0, 5}, Value: []float64{1, 40}},
			{Name: metrics.SeriesReady, Unit: "evaluations", AtS: []float64{0, 5}, Value: []float64{9, 2}},
			{Name: metrics.SeriesRaftIndex, Unit: "entries", AtS: []float64{0, 5}, Value: []float64{0, float64(entries)}},
		},
		Latencies:  []metrics.Latency{{Name: metrics.LatencyResponse, Unit: "s", Count: 1, P99: 0.25}},
		Invariants: []metrics.Invariant{{Name: "convergence", OK: ok}},
	}
	if err := os.MkdirAll(filepath.Join(dir, scenario), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := r.WriteFile(filepath.Join(dir, scenario, broker+".json")); err != nil {
		t.Fatal(err)
	}
}

// TestWrite: the page keeps its text, and between the lines has a row for each broker, the most
// entries first.
func TestWrite(t *testing.T) {
	dir, results := t.TempDir(), t.TempDir()
	for _, scenario := range []string{storm, failover} {
		result(t, results, scenario, "shedding", 10, 2000, true)
		result(t, results, scenario, "legacy", 10, 9000, true)
		result(t, results, scenario, "work-queue", 10, 500, true)
		result(t, results, scenario, "shedding+skip-queued", 10, 1000, scenario != failover)
	}
	page := filepath.Join(dir, "README.md")
	begin, end := madeby.Lines("designs")
	pages := []string{page}
	for _, d := range designs.All() {
		pages = append(pages, filepath.Join(dir, d.Word+".md"))
	}
	for _, page := range pages {
		if err := os.WriteFile(page, []byte("before\n"+begin+"old\n"+end+"after\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := write(dir, []string{results}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	if !strings.HasPrefix(got, "before\n"+begin) || !strings.HasSuffix(got, end+"after\n") || strings.Contains(got, "old") {
		t.Errorf("the page is\n%s", got)
	}
	last := 0
	for _, want := range []string{
		"| `legacy` | 9,000 | 0:02.0 | 0:03.0 | – | – | 9,000 | 0:02.0 | 0:03.0 | 250 ms | 42 | 9,007 | yes | – |",
		"| `shedding` | 2,000 |",
		"| `+skip-queued` | 1,000 |",
		"| not in failover-mid-drain |",
		"| `work-queue` | 500 |",
	} {
		at := strings.Index(got, want)
		if at < last {
			t.Errorf("the page lacks %q, or has it too early:\n%s", want, got)
		}
		last = at
	}
	charts := map[string][]byte{"pareto.png": nil, "work-queue.png": nil, "skip-queued.png": nil}
	for name := range charts {
		if charts[name], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}

	// A broker is run by itself at another size: it gets a row, and the charts stay.
	larger := t.TempDir()
	result(t, larger, storm, "legacy", 20, 95000, true)
	if err := write(dir, []string{larger}); err != nil {
		t.Fatal(err)
	}
	text, err = os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before := got
	if got = string(text); strings.Replace(got, table20, "", 1) != before {
		t.Errorf("with a row at another size the page is\n%s, and was\n%s", got, before)
	}

	// Another design is run by itself, with the brokers that it is compared with.
	for _, file := range []string{filepath.Join(storm, "work-queue.json"), filepath.Join(failover, "legacy.json")} {
		if err := os.Remove(filepath.Join(results, file)); err != nil {
			t.Fatal(err)
		}
	}
	result(t, results, storm, "shedding+up-only", 10, 1500, true)
	if err := write(dir, []string{results}); err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	row := "| `+up-only` | 1,500 | 0:02.0 | 0:03.0 | – | – | – | – | – | – | 42 | 1,507 | yes | allocations"
	if lines := slices.DeleteFunc(strings.SplitAfter(string(again), "\n"), func(l string) bool { return strings.HasPrefix(l, row) }); strings.Join(lines, "") != got {
		t.Errorf("with another row, which begins with %q, the page was\n%sand is\n%s", row, got, again)
	}
	own, err := os.ReadFile(filepath.Join(dir, "up-only.md"))
	if err != nil || !strings.Contains(string(own), row) || !strings.Contains(string(own), "| `legacy` |") || strings.Contains(string(own), "work-queue") {
		t.Errorf("%v; the page of the design is\n%s", err, own)
	}

	for name, before := range charts {
		if after, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(after, before) {
			t.Errorf("%v; runs of less than all brokers change %s", err, name)
		}
	}

	if err := os.Remove(filepath.Join(results, storm, "legacy.json")); err != nil {
		t.Fatal(err)
	}
	if err := write(dir, []string{results}); err == nil || !strings.Contains(err.Error(), "no Result of legacy in") {
		t.Errorf("a Result is missing, but the error is %v", err)
	}
}

const table20 = "\nnodes=20 · seed 1 · virtual time · " + tableLead + header + `
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|
` + "| `legacy` | 95,000 | 0:02.0 | 0:03.0 | – | – | – | – | – | – | 42 | 95,007 | yes | – |\n"

// TestPipelines: what a ramp's Results say of each depth is in the page, before the mend and after it.
func TestPipelines(t *testing.T) {
	dir, results := t.TempDir(), t.TempDir()
	run := func(broker string, rate, nacked float64) {
		ramp := metrics.Phase{Name: "ramp", StartS: 10, EndS: 20}
		r := &metrics.Result{
			Schema: metrics.Schema, Run: metrics.Run{Scenario: "submit-ramp", Broker: broker, Clock: "virtual", Seed: 1, Params: map[string]any{"nodes": 10}},
			Phases: []metrics.Phase{ramp}, Totals: metrics.Totals([]metrics.Phase{ramp}),
			Series: []metrics.Series{
				{Name: metrics.SeriesCompleted, AtS: []float64{0, 15, 20, 30}, Value: []float64{0, 100, 100 + full*rate, 9000}},
				{Name: metrics.SeriesWaiting, AtS: []float64{0, 12, 20}, Value: []float64{0, nacked, 0}},
			},
		}
		if err := r.WriteFile(filepath.Join(results, broker+".json")); err != nil {
			t.Fatal(err)
		}
	}
	page := filepath.Join(dir, "pipeline.md")
	begin, end := madeby.Lines("pipelines")
	if err := os.WriteFile(page, []byte(begin+end), 0o644); err != nil {
		t.Fatal(err)
	}
	fails := func(want string) {
		if err := writePipelines(dir, results); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want %q", err, want)
		}
	}
	fails("lacks a pipeline")
	run("2.0.5+pipeline-16", 70, 0)
	run("2.0.5+pipeline-2", 50, 0)
	run("2.0.5+pipeline-16+nack-unseen", 69, 40)
	fails("lacks a pipeline")
	run("2.0.5+pipeline-2+nack-unseen", 49, 30)
	if err := writePipelines(dir, results); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if want := "| 2 | 50 | 49 | 0 | 30 |\n| 16 | 70 | 69 | 0 | 40 |\n"; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("%v; the page lacks\n%s:\n%s", err, want, text)
	}
	if _, err := os.Stat(filepath.Join(dir, "pipeline-depth.png")); err != nil {
		t.Error(err)
	}
	run("shedding", 1, 1)
	fails("shedding in " + results + " is no pipeline")
}

// TestPages: a design that was added is compared with the others, and has a page that says what it
// is in its own words.
func TestPages(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", "designs", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	all := read("README.md")
	for _, name := range designs.Brokers() {
		if !strings.Contains(all, "| `"+short(name)+"` |") {
			t.Errorf("the table has no row of %s: run make designs", name)
		}
	}
	for _, d := range designs.All() {
		words, _, _ := strings.Cut(about(d, nil), "The columns")
		if page := d.Word + ".md"; !strings.Contains(read(page), words[:strings.Index(words, "```sh")]) || !strings.Contains(all, "]("+page+")") {
			t.Errorf("docs/designs/%s does not say what the design does, or README.md does not lead there: run make designs", page)
		}
	}
}
