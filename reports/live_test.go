package reports

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// liveSamples is a drain: pending rises to 1,000, then falls, and the log grows.
func liveSamples() []LiveSample {
	var out []LiveSample
	for i := range 100 {
		s := LiveSample{Phase: "drain", PhaseIndex: 1, Phases: 3, AtS: float64(i), Done: float64(i) / 300, RaftIndex: uint64(50 * i)}
		s.Pending = 20 * i
		if i >= 50 {
			s.Pending, s.Cancelable = 2000-20*i, 300
		}
		s.Nodes = map[string]int{"ready": 10 * i, "initializing": 990 - 10*i, "quarantined": 2}
		out = append(out, s)
	}
	return out
}

func TestGoldenLive(t *testing.T) {
	l := NewLive("legacy", "shedding")
	frames := l.Frame(TableOptions{})
	for _, s := range liveSamples() {
		l.Add(0, s)
	}
	frames += "~~~\n" + l.Frame(TableOptions{})
	l.Add(1, LiveSample{Phase: "register", Phases: 3, AtS: 0.1, RaftIndex: 4})
	frames += "~~~\n" + l.Frame(TableOptions{}) + "~~~\n" + strings.ReplaceAll(l.Frame(TableOptions{Color: true}), "\x1b", "ESC")
	golden(t, "live.golden", []byte(frames))
}

// TestLiveFits: whatever the samples, a frame has its number of lines, none longer than a
// terminal, and colour changes nothing but the colour.
func TestLiveFits(t *testing.T) {
	escapes := regexp.MustCompile("\x1b\\[[0-9;]*m")
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfN(rapid.StringMatching(`[a-z+-]{1,40}`), 1, 4).Draw(t, "names")
		l := NewLive(names...)
		for range rapid.IntRange(0, 20).Draw(t, "samples") {
			l.Add(rapid.IntRange(0, len(names)-1).Draw(t, "run"), LiveSample{
				Phase: rapid.StringMatching(`[a-z ]{1,60}`).Draw(t, "phase"), Phases: 3,
				AtS:     rapid.Float64Range(0, 1e6).Draw(t, "at"),
				Done:    rapid.Float64Range(-1, 2).Draw(t, "done"),
				Pending: rapid.IntRange(0, 1e9).Draw(t, "pending"), Cancelable: rapid.IntRange(0, 1e9).Draw(t, "cancelable"),
				RaftIndex: rapid.Uint64Max(1e15).Draw(t, "index"),
				Nodes:     rapid.MapOfN(rapid.StringMatching(`[a-z]{1,30}`), rapid.IntRange(0, 1e6), 0, 5).Draw(t, "nodes"),
			})
		}
		plain := l.Frame(TableOptions{})
		if n := strings.Count(plain, "\n"); n != l.Lines() || !strings.HasSuffix(plain, "\n") {
			t.Fatalf("%d lines, want %d:\n%s", n, l.Lines(), plain)
		}
		for line := range strings.Lines(plain) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > tableWidth {
				t.Fatalf("%d columns: %s", n, line)
			}
		}
		if strings.Contains(plain, "\x1b") {
			t.Fatal("there are escape sequences without colour")
		}
		colored := l.Frame(TableOptions{Color: true})
		var stripped strings.Builder
		for line := range strings.Lines(escapes.ReplaceAllString(colored, "")) {
			stripped.WriteString(strings.TrimRight(line, " \n") + "\n")
		}
		if stripped.String() != plain {
			t.Fatalf("colour changes the layout:\n%s\nwithout:\n%s", stripped.String(), plain)
		}
	})
}

// TestLiveKeepsPeaks: one high sample among very many stays in sight.
func TestLiveKeepsPeaks(t *testing.T) {
	l := NewLive("legacy")
	for i := range 30_000 {
		s := LiveSample{Phase: "drain", Phases: 1, AtS: float64(i), Pending: 1}
		if i == 12_345 {
			s.Pending = 7_000
		}
		l.Add(0, s)
	}
	if n := len(l.runs[0].pending.AtS); n > liveHistory {
		t.Errorf("%d points are kept, want at most %d", n, liveHistory)
	}
	frame := l.Frame(TableOptions{})
	if !strings.Contains(frame, "peak 7k") || strings.Count(frame, "█") != 1 {
		t.Errorf("the peak is not in sight:\n%s", frame)
	}
}
