package reports

import (
	"bytes"
	"errors"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/simctl/simctl/metrics"
)

func TestTableFitsTerminal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var runs []*metrics.Result
		for range rapid.IntRange(1, 9).Draw(t, "runs") {
			phase := metrics.Phase{
				Name:           rapid.StringMatching(`[a-z ]{1,40}`).Draw(t, "phase"),
				RaftEntries:    rapid.Uint64().Draw(t, "entries"),
				EvalsProcessed: rapid.Uint64Max(1e6).Draw(t, "processed"),
				RecoveryS:      rapid.Float64Range(-1, 1e9).Draw(t, "recovery"),
			}
			runs = append(runs, &metrics.Result{
				Run:        metrics.Run{Scenario: "s", Broker: rapid.StringMatching(`[a-z-]{1,40}`).Draw(t, "broker"), Clock: "virtual"},
				Phases:     []metrics.Phase{phase},
				Totals:     metrics.Totals([]metrics.Phase{phase}),
				Invariants: []metrics.Invariant{{Name: "holds", Detail: "not at all, and for many reasons, as the following long explanation shows"}},
			})
		}
		var out bytes.Buffer
		if err := Table(&out, runs, TableOptions{}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > tableWidth {
				t.Fatalf("%d columns: %s", n, line)
			}
		}
	})
}

func TestLabelsOfColumns(t *testing.T) {
	for label, want := range map[string]string{
		"legacy":                               "legacy",
		"legacy seed=1":                        "legacy seed=1",
		"legacy loopback seed=1":               "legacy|loopback|seed=1",
		"shedding+dedup-leak":                  "shedding|+dedup-leak",
		"legacy+newest-first+ack-keeps-all":    "legacy|+newest-first|+ack-keeps-a…",
		"a-policy-with-a-very-long-name":       "a-policy-wit…",
		"legacy report_allocations=false nr=1": "legacy|report_alloc…|nr=1",
	} {
		if got := strings.Join(fitLabel(label), "|"); got != want {
			t.Errorf("%s: columns are headed %q, want %q", label, got, want)
		}
	}
}

func TestTableColor(t *testing.T) {
	pair := published(t)
	pair[1].Phases[2].RaftEntries = 60_000 // worse than the old broker's
	var plain, colored bytes.Buffer
	if err := Table(&plain, pair, TableOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := Table(&colored, pair, TableOptions{Color: true}); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(plain.String(), "\x1b") {
		t.Error("there are escape sequences in a table without colour")
	}
	for _, want := range []string{"\x1b[32m÷505\x1b[0m", "\x1b[31m×1.40\x1b[0m", "\x1b[1mdrain"} {
		if !strings.Contains(colored.String(), want) {
			t.Errorf("no %q in the coloured table", want)
		}
	}
	if stripped := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(colored.String(), ""); stripped != plain.String() {
		t.Errorf("colour changes the layout:\n%s\nwithout:\n%s", stripped, plain.String())
	}
}

func TestNoRuns(t *testing.T) {
	for _, format := range Formats() {
		if _, err := Write(t.TempDir(), nil, format); !errors.Is(err, ErrNoRuns) {
			t.Errorf("%s without results: error %v, want ErrNoRuns", format, err)
		}
	}
	if err := WriteTo(io.Discard, "html", published(t), TableOptions{}); err == nil || !strings.Contains(err.Error(), `unknown format "html"`) {
		t.Errorf("writing a page as text: error %v", err)
	}
}

func TestHeadline(t *testing.T) {
	run := func(entries uint64, empty, recovery float64) *metrics.Result {
		return &metrics.Result{Phases: []metrics.Phase{
			{Name: "register", RaftEntries: 50, QueueEmptyS: -1, RecoveryS: -1},
			{Name: "drain", RaftEntries: entries, QueueEmptyS: empty, RecoveryS: recovery},
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
		{run(100, -1, -1), run(90, -1, -1), "Drain: 10% fewer Raft entries"},
		{run(100, 10, 10), run(100, 10, 2), "Drain: as many Raft entries, queue empty at the same time, recovered 5.0× sooner"},
		{run(50, 10, 10), run(50, 10, -1), "Drain: as many Raft entries, queue empty at the same time, never recovered instead of after 0:10"},
		{run(100, -1, -1), run(100, -1, -1), "Register: as many Raft entries"},
		{&metrics.Result{}, run(1, 1, 1), ""},
		{run(1, 1, 1), &metrics.Result{Phases: []metrics.Phase{{Name: "other", RaftEntries: 7}}}, ""},
	} {
		if got := headline(tt.older, tt.newer); got != tt.want {
			t.Errorf("got  %q\nwant %q", got, tt.want)
		}
	}
}

// TestHeadlineOfAPhaseCutShort: nothing is said of a recovery that is left to a later phase.
func TestHeadlineOfAPhaseCutShort(t *testing.T) {
	older := &metrics.Result{Phases: []metrics.Phase{
		{Name: "empty", RaftEntries: 100, QueueEmptyS: 50, RecoveryS: 50}, {Name: "trail"},
	}}
	newer := &metrics.Result{Phases: []metrics.Phase{
		{Name: "empty", RaftEntries: 10, QueueEmptyS: 5, RecoveryS: -1}, {Name: "trail", RaftEntries: 6, RecoveryS: 40},
	}}
	if got, want := headline(older, newer), "Empty: 90% fewer Raft entries, queue empty 10× sooner"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestHeadlineOfOne(t *testing.T) {
	r := &metrics.Result{Phases: []metrics.Phase{
		{Name: "register", RaftEntries: 50, RecoveryS: -1},
		{Name: "drain", RaftEntries: 1060, EvalsProcessed: 9, RecoveryS: 70},
		{Name: "storm", RaftEntries: 7, EvalsProcessed: 1, RecoveryS: -1},
	}}
	if got, want := headlineOfOne(r), "Drain: recovered after 1:10 with 1,060 Raft entries; storm: never recovered with 7 Raft entries"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := headlineOfOne(&metrics.Result{Phases: r.Phases[:1]}); got != "" {
		t.Errorf("a run with nothing to recover from has the headline %q", got)
	}
}

func TestFormats(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{clock(0), "0:00.0"}, {clock(4.24), "0:04.2"}, {clock(9.96), "0:10"}, {clock(59.6), "1:00"}, {clock(2500), "41:40"},
		{clock(3599.4), "59:59"}, {clock(3599.6), "1:00:00"}, {clock(-61), "-1:01"}, {clock(100000), "27:46:40"},
		{grouped(0), "0"}, {grouped(-0.4), "0"}, {grouped(999), "999"}, {grouped(1000), "1,000"}, {grouped(-1234567), "-1,234,567"},
		{si(0), "0"}, {si(999.6), "1k"}, {si(49990), "50k"}, {si(1234567), "1.23M"}, {si(-2e9), "-2G"}, {si(0.25), "0.25"},
		{duration(0), "0 s"}, {duration(0.00053), "530 µs"}, {duration(0.9999), "1 s"}, {duration(59.99), "1:00"},
		{percent(0.125), "12.5%"}, {bytesSI(943718400), "944MB"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestTicks(t *testing.T) {
	labels := func(a axis) string {
		var out []string
		for _, tick := range a.ticks(6) {
			if !tick.IsMinor() {
				out = append(out, tick.Label)
			}
		}
		return strings.Join(out, " ")
	}
	for _, tt := range []struct {
		axis axis
		want string
	}{
		{axis{max: 49990}, "0 10k 20k 30k 40k"},
		{axis{max: 3}, "0 0.5 1 1.5 2 2.5 3"},
		{axis{max: 1, unit: shares}, "0% 20% 40% 60% 80% 100%"},
		{axis{max: 3284, unit: instants}, "0:00 10:00 20:00 30:00 40:00 50:00"},
		{axis{max: 7300, unit: instants}, "0:00 0:30 1:00 1:30 2:00"},
		{axis{max: 0.4, unit: instants}, "0:00.0 0:00.1 0:00.2 0:00.3 0:00.4"},
		{axis{min: 20, max: 4000, log: true}, "20 50 100 200 500 1k 2k"},
		{axis{min: 1, max: 1e5, log: true}, "1 10 100 1k 10k 100k"},
		{axis{min: 0.002, max: 900, log: true, unit: lengths}, "10 ms 100 ms 1 s 10 s 1 min 10 min"},
		{axis{names: []string{"drain", "storm"}}, "drain storm"},
	} {
		if got := labels(tt.axis); got != tt.want {
			t.Errorf("%+v: ticks %q, want %q", tt.axis, got, tt.want)
		}
	}
}

func TestClampedLog(t *testing.T) {
	for _, v := range []float64{-5, 0, 0.1, 1} {
		if got := (clampedLog{}).Normalize(1, 1000, v); got != 0 {
			t.Errorf("%g lies at %g of a logarithmic axis from 1, want its lower end", v, got)
		}
	}
	if got := (clampedLog{}).Normalize(1, 100, 10); math.Abs(got-0.5) > 1e-9 {
		t.Errorf("10 lies at %g between 1 and 100, want in the middle", got)
	}
}

func TestSparkline(t *testing.T) {
	peak := make([]float64, 1000)
	peak[617] = 5
	for _, tt := range []struct {
		values []float64
		width  int
		want   string
	}{
		{nil, 3, "   "},
		{[]float64{0, 0}, 4, "__  "},
		{[]float64{0, 1, 2, 3, 4, 5, 6, 7, 8}, 9, "_▂▃▄▅▆▇██"},
		{[]float64{0.001, 1}, 2, "▁█"},
		{[]float64{0, 9, 0, 0, 3, 1}, 3, "█_▃"},
		{peak, 10, "______█___"},
		{[]float64{1}, 0, ""},
	} {
		if got := Sparkline(tt.values, tt.width); got != tt.want {
			t.Errorf("%v in %d columns: %q, want %q", tt.values, tt.width, got, tt.want)
		}
	}
}
