package reports

import (
	"bytes"
	"errors"
	"io"
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
		if err := writeTable(&out, runs, TableOptions{}); err != nil {
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
		"legacy report_allocations=false nr=1": "legacy|report_alloc…|=false nr=1",
		"legacy nodes=50 system_jobs=10":       "legacy|nodes=50|system_jobs|=10",
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
	if err := writeTable(&plain, pair, TableOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := writeTable(&colored, pair, TableOptions{Color: true}); err != nil {
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

// TestVerdictIsLast: on a terminal, where a long table leaves nothing else in sight.
func TestVerdictIsLast(t *testing.T) {
	var out bytes.Buffer
	if err := writeTable(&out, published(t), TableOptions{Verdict: true}); err != nil {
		t.Fatal(err)
	}
	const verdict = "Drain: 99.8% fewer Raft entries"
	if text := out.String(); strings.Count(text, verdict) != 2 || !strings.HasPrefix(text, verdict) || strings.LastIndex(text, verdict) < strings.Index(text, "invariants") {
		t.Errorf("the verdict is not the last line, too:\n%s", text)
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
		if got := sparkline(tt.values, tt.width); got != tt.want {
			t.Errorf("%v in %d columns: %q, want %q", tt.values, tt.width, got, tt.want)
		}
	}
}
