package wording

import (
	"strings"
	"testing"

	"github.com/simctl/simctl/metrics"
)

func TestHeadline(t *testing.T) {
	run := func(entries uint64, empty, recovery float64) *metrics.Result {
		return &metrics.Result{Phases: []metrics.Phase{
			{Name: "register", RaftEntries: 50, QueueEmptyS: -1, RecoveryS: -1},
			{Name: "drain", RaftEntries: entries, QueueEmptyS: empty, RecoveryS: recovery, EndS: max(recovery, 0) + 7},
		}}
	}
	for _, tt := range []struct {
		older, newer *metrics.Result
		want         string
	}{
		{run(50193, 2400, 2400), run(128, 12, 350), "Drain: 99.7% fewer Raft entries, queue empty 200× sooner, recovered 6.9× sooner"},
		{run(100000, 100, 100), run(1, 100, 98), "Drain: 99.99% fewer Raft entries, queue empty at the same time, recovered at the same time"},
		{run(100, 100, 90), run(0, 0, 0), "Drain: 100% fewer Raft entries, queue empty at once instead of after 1:40, recovered at once instead of after 1:30"},
		{run(100, 0, 0), run(90, 0, 5), "Drain: 10% fewer Raft entries, recovered after 0:05.0 instead of at once"},
		{run(100, 10, 10), run(150, 20, 25), "Drain: 50% more Raft entries, queue empty 2.0× later, recovered 2.5× later"},
		{run(100, 10, 10), run(1240, 10, 10), "Drain: 12× as many Raft entries, queue empty at the same time, recovered at the same time"},
		{run(0, 10, -1), run(7, 10, 65), "Drain: 7 Raft entries instead of none, queue empty at the same time, recovered after 1:05 instead of never"},
		{run(100, 10, 10), run(90, -1, -1), "Drain: 10% fewer Raft entries, queue never empty instead of after 0:10, never recovered instead of after 0:10"},
		{run(100, -1, -1), run(90, -1, -1), "Drain: 10% fewer Raft entries, as many evals processed, as many evals pending at the peak"},
		{run(100, 10, 10), run(100, 10, 2), "Drain: as many Raft entries, queue empty at the same time, recovered 5.0× sooner"},
		{run(50, 10, 10), run(50, 10, -1), "Drain: as many Raft entries, queue empty at the same time, never recovered instead of after 0:10"},
		{run(100, -1, -1), run(100, -1, -1), "Drain: as many Raft entries, as many evals processed, as many evals pending at the peak"},
		{&metrics.Result{}, run(1, 1, 1), ""},
		{run(1, 1, 1), &metrics.Result{Phases: []metrics.Phase{{Name: "other", RaftEntries: 7}}}, ""},
	} {
		if got := headline(tt.older, tt.newer); got != tt.want {
			t.Errorf("got  %q\nwant %q", got, tt.want)
		}
	}
}

// TestHeadlineTellsWhatGotWorse: the worst regression stands beside the gain, in whichever phase
// it is, and a difference of a sample or an event is none.
func TestHeadlineTellsWhatGotWorse(t *testing.T) {
	run := func(phases ...metrics.Phase) *metrics.Result {
		return &metrics.Result{Phases: append([]metrics.Phase{{Name: "start", RaftEntries: 5000, EvalsProcessed: 9, QueueEmptyS: 1, RecoveryS: 1}}, phases...)}
	}
	phase := func(name string, entries uint64, recovery float64, more ...func(*metrics.Phase)) metrics.Phase {
		p := metrics.Phase{Name: name, RaftEntries: entries, EvalsProcessed: 1000, PlansSubmitted: 1000, QueueEmptyS: recovery, RecoveryS: recovery, EndS: max(recovery, 0) + 7}
		for _, f := range more {
			f(&p)
		}
		return p
	}
	drain, drained := phase("drain", 2023, 4.8), phase("drain", 43, 0.8)
	for what, tt := range map[string]struct {
		older, newer *metrics.Result
		want         string
	}{
		"a slower storm": {run(drain, phase("storm", 3703, 21)), run(drained, phase("storm", 3633, 25)),
			"Drain: 97.8% fewer Raft entries, queue empty 6.0× sooner, recovered 6.0× sooner; but storm: recovered 1.2× later"},
		"a storm that is as fast": {run(drain, phase("storm", 3703, 21)), run(drained, phase("storm", 3633, 21.2)),
			"Drain: 97.8% fewer Raft entries, queue empty 6.0× sooner, recovered 6.0× sooner"},
		"a storm without end": {run(drain, phase("storm", 3703, 21)), run(drained, phase("storm", 3633, -1)),
			"Drain: 97.8% fewer Raft entries, queue empty 6.0× sooner, recovered 6.0× sooner; but storm: never recovered instead of after 0:21"},
		"more plans": {run(drain, phase("storm", 3703, 21)), run(drained, phase("storm", 3633, 21, func(p *metrics.Phase) { p.PlansSubmitted = 2000 })),
			"Drain: 97.8% fewer Raft entries, queue empty 6.0× sooner, recovered 6.0× sooner; but storm: 2.0× as many plans submitted"},
		"worse where it tells most": {run(phase("drain", 43, 0.8), phase("storm", 3703, 25)), run(phase("drain", 2023, 4.8), phase("storm", 3633, 21)),
			"Drain: 47× as many Raft entries, queue empty 6.0× later, recovered 6.0× later; but storm: recovered 1.2× sooner"},
		"no difference but in the setup": {run(drain), func() *metrics.Result { r := run(drain); r.Phases[0].RaftEntries = 5003; return r }(),
			"Drain: as many Raft entries, queue empty at the same time, recovered at the same time"},
		"a deployment under way": {run(drain, phase("deploy", 100, 3, func(p *metrics.Phase) { p.DeploymentS = 40 })),
			run(drain, phase("deploy", 90, 0.4, func(p *metrics.Phase) { p.DeploymentS = -1 })),
			"Deploy: 10% fewer Raft entries, queue empty 7.5× sooner, not deployed at the end instead of after 0:40"},
	} {
		if got := headline(tt.older, tt.newer); got != tt.want {
			t.Errorf("%s:\ngot  %q\nwant %q", what, got, tt.want)
		}
	}
}

// TestHeadlineOfAPhaseThatEndsByTime: a phase that lasts half an hour, whatever goes on, tells by
// its load. What was pending at its end is chance.
func TestHeadlineOfAPhaseThatEndsByTime(t *testing.T) {
	run := func(flap, recover metrics.Phase) *metrics.Result {
		flap.Name, flap.StartS, flap.EndS = "flap", 100, 1900
		recover.Name, recover.StartS, recover.EndS = "recover", 1900, 1900+recover.RecoveryS+5
		recover.QueueEmptyS, recover.EvalsProcessed = recover.RecoveryS, 1
		return &metrics.Result{Phases: []metrics.Phase{{Name: "start", RaftEntries: 90000, EvalsProcessed: 9000, QueueEmptyS: 5, RecoveryS: 5, EndS: 100}, flap, recover}}
	}
	legacy := run(metrics.Phase{RaftEntries: 55756, EvalsProcessed: 28556, PeakPending: 394, QueueEmptyS: -1, RecoveryS: -1}, metrics.Phase{RaftEntries: 523, RecoveryS: 7})
	shedding := run(metrics.Phase{RaftEntries: 53333, EvalsProcessed: 22423, PeakPending: 40, QueueEmptyS: 1799.5, RecoveryS: 1799.6}, metrics.Phase{RaftEntries: 329, RecoveryS: 4.3})
	quiet := run(metrics.Phase{RaftEntries: 53333, EvalsProcessed: 22423, PeakPending: 40, QueueEmptyS: 900, RecoveryS: 900}, shedding.Phases[2])
	like := run(legacy.Phases[1], legacy.Phases[2])
	like.Phases[0].EvalsProcessed = 9
	like.Phases[1].EvalsProcessed--
	for what, tt := range map[string]struct {
		older, newer *metrics.Result
		want         string
	}{
		"busy to its end":         {legacy, shedding, "Flap: 4.3% fewer Raft entries, 21.4% fewer evals processed, 89.8% fewer evals pending at the peak"},
		"quiet long before":       {shedding, quiet, "Flap: as many Raft entries, queue empty 2.0× sooner, recovered 2.0× sooner"},
		"alike but for the setup": {legacy, like, "Flap: as many Raft entries, as many evals processed, as many evals pending at the peak"},
	} {
		if got := headline(tt.older, tt.newer); got != tt.want {
			t.Errorf("%s:\ngot  %q\nwant %q", what, got, tt.want)
		}
	}
	for r, want := range map[*metrics.Result]string{
		legacy:   "Flap: 55,756 Raft entries; recover: recovered after 0:07.0 with 523 Raft entries",
		shedding: "Flap: 53,333 Raft entries; recover: recovered after 0:04.3 with 329 Raft entries",
		quiet:    "Flap: recovered after 15:00 with 53,333 Raft entries; recover: recovered after 0:04.3 with 329 Raft entries",
	} {
		if got := headlineOfOne(r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// TestHeadlineOpensWithCaveats: what a reader must know comes before any figure, and runs that
// are too unlike have no other headline.
func TestHeadlineOpensWithCaveats(t *testing.T) {
	run := func(broker string, params map[string]any, entries uint64) *metrics.Result {
		return &metrics.Result{
			Run:    metrics.Run{Scenario: "storm", Broker: broker, Clock: "virtual", Params: params, Nodes: params["nodes"].(int)},
			Phases: []metrics.Phase{{Name: "start"}, {Name: "drain", RaftEntries: entries, EvalsProcessed: 7, QueueEmptyS: 10, RecoveryS: 10, EndS: 17}},
		}
	}
	wall := run("shedding", map[string]any{"nodes": 100}, 50)
	wall.Run.Clock = "wall"
	warned := run("shedding", map[string]any{"nodes": 500}, 50)
	warned.Warnings = []string{"the deployment of job web was under way at the end"}
	failed := run("shedding", map[string]any{"nodes": 500}, 50)
	failed.Invariants = []metrics.Invariant{{Name: "servers agree"}}
	const half = "Drain: 50% fewer Raft entries, queue empty at the same time, recovered at the same time"
	for what, tt := range map[string]struct {
		newer *metrics.Result
		want  string
	}{
		"like":   {run("shedding", map[string]any{"nodes": 500}, 50), half},
		"unlike": {wall, "Unlike runs: 500 and 100 nodes, clock virtual and wall"},
		"another fleet": {func() *metrics.Result {
			r := run("shedding", map[string]any{"nodes": 500}, 50)
			r.Run.Nodes = 1000
			return r
		}(), "Unlike runs: 500 and 1,000 nodes"},
		"another scenario": {func() *metrics.Result {
			r := run("shedding", map[string]any{"nodes": 500}, 50)
			r.Run.Scenario = "other"
			return r
		}(), "Unlike runs: scenarios storm and other"},
		"another broker": {run("shedding", map[string]any{"nodes": 100}, 50), "Unlike runs: 500 and 100 nodes"},
		"one setting":    {run("legacy", map[string]any{"nodes": 100}, 50), "Unlike runs: 500 and 100 nodes. " + half},
		"a broker's own": {run("shedding", map[string]any{"nodes": 500, "broker_release": "1.4.3"}, 50), "Unlike runs: broker_release unset and 1.4.3. " + half},
		"settings without end": {run("shedding", map[string]any{"nodes": 500, "a": strings.Repeat("ä", 61), "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "g": 1, "h": 1}, 50),
			"Unlike runs: a unset and " + strings.Repeat("ä", 60) + "…, b unset and 1, c unset and 1, d unset and 1, e unset and 1, f unset and 1, and 2 more"},
		"work under way": {warned, "Shedding: the deployment of job web was under way at the end. " + half},
		"a failed check": {failed, "1 check failed. " + half},
	} {
		if got := Summarise([]*metrics.Result{run("legacy", map[string]any{"nodes": 500}, 100), tt.newer}).Headline; got != tt.want {
			t.Errorf("%s:\ngot  %q\nwant %q", what, got, tt.want)
		}
	}
}

// TestDeployingIsNoRecovery: a phase that ended while a deployment was under way has no time to
// recovery, whatever evaluations were pending, and nothing is made of what it would be.
func TestDeployingIsNoRecovery(t *testing.T) {
	run := func(broker string) *metrics.Result {
		p := metrics.Phase{Name: "deploy", EvalsProcessed: 3, QueueEmptyS: 0.1, RecoveryS: 0.4, EndS: 6, DeploymentS: -1}
		return &metrics.Result{Run: metrics.Run{Broker: broker}, Phases: []metrics.Phase{p}, Warnings: []string{"1 deployment under way"}}
	}
	pair := []*metrics.Result{run("legacy"), run("shedding")}
	s := Summarise(pair)
	for _, r := range s.Sections[0].Rows {
		if (r.Title == "recovery" || r.Title == "deployment") && (r.Values[0] != Deploying || r.Ratio != "") {
			t.Errorf("the row %s is %+v", r.Title, r)
		}
	}
	if want := "1 deployment under way. Deploy: as many Raft entries, queue empty at the same time"; s.Headline != want {
		t.Errorf("got %q, want %q", s.Headline, want)
	}
	if got, want := Summarise(pair[:1]).Headline, "1 deployment under way. Deploy: not deployed at the end with 0 Raft entries"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestHeaderNamesTheFleet: as large as it is, whatever the variables are called, and how fast
// its clock goes.
func TestHeaderNamesTheFleet(t *testing.T) {
	r := &metrics.Result{Run: metrics.Run{
		Scenario: "two", Clock: "wall", Target: "simulated", Seed: 1, Nodes: 100,
		Params: map[string]any{"nodes": 50, "servers": 1, "time_scale": 0.1},
	}}
	if got, want := Subtitle([]*metrics.Result{r}), "two · 100 nodes · 1 server · seed 1 · wall time · time scale 0.1"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	r.Run.Nodes = 0 // an older file
	if got := Subtitle([]*metrics.Result{r}); !strings.Contains(got, "nodes=50") {
		t.Errorf("%q passes a variable for the size of the fleet", got)
	}
}

// TestHeadlineOfAPhaseCutShort: nothing is said of a recovery that is left to a later phase.
func TestHeadlineOfAPhaseCutShort(t *testing.T) {
	older := &metrics.Result{Phases: []metrics.Phase{
		{Name: "register"}, {Name: "empty", RaftEntries: 100, QueueEmptyS: 50, RecoveryS: 50, EndS: 60}, {Name: "trail"},
	}}
	newer := &metrics.Result{Phases: []metrics.Phase{
		{Name: "register"}, {Name: "empty", RaftEntries: 10, QueueEmptyS: 5, RecoveryS: -1}, {Name: "trail", RaftEntries: 6, RecoveryS: 40},
	}}
	if got, want := headline(older, newer), "Empty: 90% fewer Raft entries, queue empty 10× sooner"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHeadlineOfOne(t *testing.T) {
	r := &metrics.Result{Phases: []metrics.Phase{
		{Name: "register", RaftEntries: 50, RecoveryS: -1},
		{Name: "drain", RaftEntries: 1060, EvalsProcessed: 9, RecoveryS: 70, EndS: 75},
		{Name: "storm", RaftEntries: 7, EvalsProcessed: 1, RecoveryS: -1},
	}}
	if got, want := headlineOfOne(r), "Drain: recovered after 1:10 with 1,060 Raft entries; storm: never recovered with 7 Raft entries"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := headlineOfOne(&metrics.Result{Phases: r.Phases[:1]}); got != "" {
		t.Errorf("a run with nothing to recover from has the headline %q", got)
	}
}

// TestUpperFirst: a phase may be called anything, and half a letter is none.
func TestUpperFirst(t *testing.T) {
	for s, want := range map[string]string{"": "", "drain": "Drain", "überlast": "Überlast", "日本": "日本"} {
		if got := UpperFirst(s); got != want {
			t.Errorf("UpperFirst(%q) is %q, want %q", s, got, want)
		}
	}
}

func TestFormats(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{Clock(0), "0:00.0"}, {Clock(4.24), "0:04.2"}, {Clock(9.96), "0:10"}, {Clock(59.6), "1:00"}, {Clock(2500), "41:40"},
		{Clock(3599.4), "59:59"}, {Clock(3599.6), "1:00:00"}, {Clock(-61), "-1:01"}, {Clock(100000), "27:46:40"},
		{Grouped(0), "0"}, {Grouped(-0.4), "0"}, {Grouped(999), "999"}, {Grouped(1000), "1,000"}, {Grouped(-1234567), "-1,234,567"},
		{SI(0), "0"}, {SI(999.6), "1k"}, {SI(49990), "50k"}, {SI(1234567), "1.23M"}, {SI(-2e9), "-2G"}, {SI(0.25), "0.25"},
		{Duration(0), "0 s"}, {Duration(0.00053), "530 µs"}, {Duration(0.9999), "1 s"}, {Duration(59.99), "1:00"},
		{Percent(0.125), "12.5%"}, {BytesSI(943718400), "944MB"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}
