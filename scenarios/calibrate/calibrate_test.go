package calibrate

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios"
)

func TestMain(m *testing.M) {
	scenarios.ServeIfChild()
	debug.SetGCPercent(400) // these tests end soon
	goleak.VerifyTestMain(m)
}

// slow returns the Spec of a run on machines that are so much slower than those of the class published, and
// their log by another factor.
func slow(t *testing.T, nodes int, by, log float64) scenarios.Spec {
	t.Helper()
	spec := scenarios.Spec{Scenario: "heartbeat-storm", Broker: "1.4.2", Seed: 1, Cost: "published"}
	o, err := scenarios.OutlineOf(spec)
	if err != nil {
		t.Fatal(err)
	}
	text := o.Machines().Text(func(path string) float64 {
		if (scaled{at: [3]int{0, octave, 0}}).of(path) != 1 {
			return by * log
		}
		return by
	})
	spec.Cost = filepath.Join(t.TempDir(), "slow.hcl")
	if err := os.WriteFile(spec.Cost, text, 0o644); err != nil {
		t.Fatal(err)
	}
	spec.Set("nodes", nodes)
	spec.Set("system_jobs", 2)
	// With one worker evaluations are processed one after the other.
	spec.Set("servers", 1)
	spec.Set("schedulers", 1)
	return spec
}

// TestDurations: from runs on machines whose log is twice as slow as the costs say, the fit finds what is
// as good, and what it says of runs that it has not seen is what a fit without them comes to.
func TestDurations(t *testing.T) {
	const by, log = 40, 2
	var specs []scenarios.Spec
	var real [][]*metrics.Result
	for _, nodes := range []int{20, 40} {
		results, err := scenarios.RunAll(t.Context(), []scenarios.Spec{slow(t, nodes, by, log)}, nil)
		if err != nil {
			t.Fatal(err)
		}
		real = append(real, results)
		spec := slow(t, nodes, by, 1)
		if len(specs) > 0 {
			spec.Cost = specs[0].Cost // all runs are of one class
		}
		specs = append(specs, spec)
	}
	simulations := 0
	fit, err := Run(t.Context(), specs, real, func(n int) {
		if n <= simulations { // what is known is not simulated again
			t.Errorf("told of %d simulations after %d", n, simulations)
		}
		simulations = n
	})
	if err != nil {
		t.Fatal(err)
	}
	if simulations != fit.Simulations || simulations == 0 {
		t.Errorf("%d simulations, and told of %d", fit.Simulations, simulations)
	}
	if len(fit.Figures) != 2 || fit.Figures[1].Run != 1 || fit.Figures[1].Phase != "drain" {
		t.Fatalf("the figures are %+v", fit.Figures)
	}
	if fit.Before < 0.3 || fit.After > 0.05 {
		t.Errorf("it deviates by %v before and by %v fitted; figures %+v, factors %v", fit.Before, fit.After, fit.Figures, fit.Factors)
	}
	drain := func(fit *Fit) float64 {
		t.Helper()
		spec := specs[0]
		spec.Cost = filepath.Join(t.TempDir(), "fitted.hcl")
		if err := os.WriteFile(spec.Cost, fit.Text(spec.Cost, "fitted", "this test"), 0o644); err != nil {
			t.Fatal(err)
		}
		again, err := scenarios.RunAll(t.Context(), []scenarios.Spec{spec}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return again[0].Phase("drain").RecoveryS
	}
	if got, want := drain(fit), fit.Figures[0].After; got != want {
		t.Errorf("with the file the drain takes %v s, and the fit said %v", got, want)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if fit, err := Run(canceled, specs, real, func(int) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %+v, %v", fit, err)
	}
	without, err := Run(t.Context(), specs[1:], real[1:], func(int) {})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := drain(without), fit.Figures[0].Unseen; got != want {
		t.Errorf("fitted without it the drain takes %v s, and the fit said %v", got, want)
	}
	if !math.IsNaN(without.Unseen) || math.IsNaN(fit.Unseen) {
		t.Errorf("unseen are %v of one run, and %v of two", without.Unseen, fit.Unseen)
	}
}

func TestNothing(t *testing.T) {
	spec := slow(t, 5, 1, 1)
	results, err := scenarios.RunAll(t.Context(), []scenarios.Spec{spec}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Run(t.Context(), []scenarios.Spec{spec}, [][]*metrics.Result{results}, func(int) {}); !errors.Is(err, ErrNothing) {
		t.Errorf("by a drain that took no time: %v", err)
	}
}

// TestMixed: runs of releases that have costs of their own are not fitted together.
func TestMixed(t *testing.T) {
	specs := []scenarios.Spec{{Cost: "loopback"}, {Cost: "loopback-2.0.5"}}
	if _, err := Run(t.Context(), specs, nil, nil); !errors.Is(err, ErrMixed) || !strings.Contains(err.Error(), "loopback and loopback-2.0.5: fit one") {
		t.Errorf("two classes: %v", err)
	}
}

func TestTypical(t *testing.T) {
	if got := typical([]float64{math.Log(1.1), -math.Log(1.1)}); math.Abs(got-0.1) > 1e-9 {
		t.Errorf("a tenth up and a tenth down are %v", got)
	}
}

// TestSpeed: from storms on a machine whose processors are half as fast as the costs say the fit finds that they are, and writes a
// file that builds on the costs, wherever it lies.
func TestSpeed(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.WriteFile("mine.hcl", []byte("class = \"mine\"\nsource = \"a test\"\nbase = \"loopback\"\nspeed = 0.5\nidle = \"40ms\"\n"), 0o644))
	must(os.WriteFile("half.hcl", []byte("class = \"half\"\nsource = \"a test\"\nbase = \"mine.hcl\"\nspeed = 0.5\n"), 0o644))
	storm := func(nodes int, cost string) scenarios.Spec {
		spec := scenarios.Spec{Scenario: "heartbeat-storm", Broker: "1.4.3", Seed: 1, Cost: cost}
		spec.Set("nodes", nodes)
		return spec
	}
	var specs []scenarios.Spec
	var real [][]*metrics.Result
	for _, nodes := range []int{20, 30} {
		results, err := scenarios.RunAll(t.Context(), []scenarios.Spec{storm(nodes, "half.hcl")}, nil)
		must(err)
		specs, real = append(specs, storm(nodes, "mine.hcl")), append(real, results)
	}
	fit, err := Run(t.Context(), specs, real, func(int) {})
	must(err)
	if len(fit.Factors) != 1 || math.Abs(fit.Factors[0].Factor-0.5) > 0.05 || fit.Factors[0].AtEnd {
		t.Errorf("the factors are %+v, want a speed of 0.5", fit.Factors)
	}
	if fit.Before < 0.3 || fit.After > 0.05 || fit.Unseen > 0.1 || len(fit.Figures) < 2 || fit.Simulations > 3*trials*len(specs) {
		t.Errorf("the fit is %+v", fit)
	}
	must(os.Mkdir("costs", 0o755))
	const file = "costs/fitted.hcl"
	text := fit.Text(file, "fitted", "this test")
	if !strings.Contains(string(text), `base   = "../mine.hcl"`) {
		t.Errorf("the file is\n%s", text)
	}
	must(os.WriteFile(file, text, 0o644))
	o, err := scenarios.OutlineOf(storm(30, file))
	must(err)
	half, err := scenarios.OutlineOf(storm(30, "half.hcl"))
	must(err)
	if got, want := o.Machines().Costs.Idle.Seconds(), half.Machines().Costs.Idle.Seconds(); math.Abs(got/want-1) > 0.1 {
		t.Errorf("by the file an idle server takes %v s of a second, want %v", got, want)
	}
}

// TestEndsOfTheSearch: costs at an end of the search say that they may differ by more.
func TestEndsOfTheSearch(t *testing.T) {
	for i, f := range (scaled{at: [3]int{most, -most, most - 1}}).factors() {
		if want := i < 2; f.AtEnd != want {
			t.Errorf("%+v, want at an end: %v", f, want)
		}
	}
	for times, want := range map[float64]bool{fastest: true, 1. / fastest: true, 15.9: false, 0.063: false} {
		if f := (faster{"loopback", times}).factors()[0]; f.AtEnd != want || f.Factor != times {
			t.Errorf("%+v, want at an end: %v", f, want)
		}
	}
}

// TestFiguresOfSpeed: a speed is fitted by phases in which all runs processed evaluations and kept the processors busy for long enough. A time
// that did not come is as bad as any.
func TestFiguresOfSpeed(t *testing.T) {
	of := func(evals uint64, busy float64) *metrics.Result {
		return &metrics.Result{
			Phases: []metrics.Phase{{Name: "storm", EndS: 100, EvalsProcessed: evals}},
			Series: []metrics.Series{{Name: metrics.SeriesCPU, AtS: []float64{0, 100}, Value: []float64{0, busy / 100}}},
		}
	}
	m := bySpeed{"loopback"}
	for _, c := range []struct {
		runs []*metrics.Result
		real float64 // 0: no figure
	}{
		{[]*metrics.Result{of(10, 20), of(10, 40), of(10, 30)}, 3},
		{[]*metrics.Result{of(10, leastS)}, leastS / 10.},
		{[]*metrics.Result{of(10, 20), of(10, leastS-0.1)}, 0},
		{[]*metrics.Result{of(10, 20), of(0, 20)}, 0},
		{[]*metrics.Result{of(10, 20), {}}, 0},
	} {
		figures := m.figures(7, c.runs)
		if (len(figures) == 1) != (c.real > 0) || c.real > 0 && (math.Abs(figures[0].Real-c.real) > 1e-9 || figures[0].Run != 7) {
			t.Errorf("the figures are %+v, want %v", figures, c.real)
		}
	}
	f := Figure{Phase: "storm", Real: 3}
	for _, r := range []*metrics.Result{of(0, 20), of(10, 0), {}} {
		if off := deviation(f, m.value(f, r)); off != math.Log(never) {
			t.Errorf("%v that did not come deviates by %v", m.value(f, r), off)
		}
	}
}

// TestSeenFrom: a file names its base so that it is found from where the file lies.
func TestSeenFrom(t *testing.T) {
	for _, c := range [][3]string{
		{"loopback", "x/y.hcl", "loopback"}, {"/a/b.hcl", "x/y.hcl", "/a/b.hcl"}, {"b.hcl", "y.hcl", "./b.hcl"}, {"./b.hcl", "x/y.hcl", "../b.hcl"},
		{"x/b", "x/y.hcl", "./b"}, {"b.hcl", "/x/y.hcl", "b.hcl"},
	} {
		if got := (faster{base: c[0]}).seenFrom(c[1]); got != c[2] {
			t.Errorf("%s seen from %s is %s, want %s", c[0], c[1], got, c[2])
		}
	}
}
