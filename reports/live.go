package reports

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/figure"
	"github.com/simctl/simctl/reports/wording"
)

// LiveSample is the state of a run at one instant. The zero value is a run that has not begun.
type LiveSample struct {
	Phase              string
	PhaseIndex, Phases int     // of the phase, from 0, and their number
	AtS                float64 // of the run's clock, ascending
	Done               float64 // share of the whole run, 0 to 1
	Pending            int     // evaluations in the broker that are to be processed
	Cancelable         int     // evaluations in the broker that are to be canceled
	RaftIndex          uint64
	Nodes              map[string]int // by status
}

// Live turns samples of runs into frames for a terminal: text of a fixed number of lines that
// is drawn over and over. It knows neither time nor terminal. NewLive makes one; one goroutine
// at a time may use it.
type Live struct {
	names []string
	runs  []liveRun
}

type liveRun struct {
	last           LiveSample
	pending, index metrics.Series
	peak           int
}

// Measures of a frame, which fits a terminal of tableWidth columns.
const (
	liveLines   = 4  // of a run
	liveTitle   = 12 // of a row, its indent included
	liveValue   = 10
	liveSpark   = 28
	liveBar     = 20
	liveHistory = 2000 // points
	// liveRate is the span of the run's time, in seconds, that the growth of the log is taken over.
	liveRate = 10.0
)

// NewLive returns a display of runs with these names.
func NewLive(names ...string) *Live {
	return &Live{names: names, runs: make([]liveRun, len(names))}
}

// Add takes in a sample of one run. It drops a sample that is older than the one before.
func (l *Live) Add(run int, s LiveSample) {
	r := &l.runs[run]
	if s.AtS < r.last.AtS {
		return
	}
	r.last, r.peak = s, max(r.peak, s.Pending)
	r.pending = follow(r.pending, s.AtS, float64(s.Pending))
	r.index = follow(r.index, s.AtS, float64(s.RaftIndex))
}

// follow appends a point to a series, which stays bounded and keeps its peaks.
func follow(s metrics.Series, at, value float64) metrics.Series {
	s.AtS, s.Value = append(s.AtS, at), append(s.Value, value)
	if len(s.AtS) > liveHistory {
		return s.Thin(liveHistory / 2)
	}
	return s
}

// Lines returns the number of lines of every frame.
func (l *Live) Lines() int { return liveLines * len(l.runs) }

// Frame draws the runs in their latest state. It ends with a line break.
func (l *Live) Frame(opts TableOptions) string {
	var b strings.Builder
	colors := liveColors(l.names)
	for i, r := range l.runs {
		for _, line := range r.lines(l.names[i], colors[i], paint{opts.Color}) {
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	return b.String()
}

// liveColors returns codes of a terminal's 256 colours: those closest to the runs' colours in
// charts.
func liveColors(names []string) []string {
	level := func(v uint8) int { // of 0, 95, 135, 175, 215 and 255
		if v < 115 {
			return min(int(v)/48, 1)
		}
		return int(v-35) / 40
	}
	var out []string
	for _, c := range figure.RunColors(names) {
		out = append(out, fmt.Sprintf("38;5;%d", 16+36*level(c.R)+6*level(c.G)+level(c.B)))
	}
	return out
}

func (r liveRun) lines(name, color string, p paint) [liveLines]string {
	s := r.last
	if s.Phase == "" {
		return [liveLines]string{p.bold(fit(name, tableWidth-10)) + " starting"}
	}
	where := fmt.Sprintf(" %s (%d of %d) at %s", s.Phase, s.PhaseIndex+1, s.Phases, wording.Clock(s.AtS))
	full := int(math.Round(min(max(s.Done, 0), 1) * liveBar))
	bar := strings.Repeat("█", full) + strings.Repeat("░", liveBar-full)
	left := tableWidth - liveBar - 7
	name = fit(name, 24)
	left -= utf8.RuneCountInString(name)
	title := fmt.Sprintf("%s%-*s", p.bold(name), left, fit(where, left))
	row := func(what, value string, spark metrics.Series, note string) string {
		text := fmt.Sprintf("%-*s%*s  ", liveTitle, "  "+what, liveValue, fit(value, liveValue))
		return text + p.sgr(color, sparkline(columns(spark, liveSpark), liveSpark)) + "  " + fit(note, tableWidth-liveTitle-liveValue-liveSpark-4)
	}
	note := "peak " + wording.SI(float64(r.peak))
	if s.Cancelable > 0 {
		note += ", " + wording.SI(float64(s.Cancelable)) + " to cancel"
	}
	return [liveLines]string{
		fmt.Sprintf("%s %s %4.0f%%", title, p.sgr(color, bar), 100*min(max(s.Done, 0), 1)),
		row("pending", wording.Grouped(float64(s.Pending)), r.pending, note),
		row("Raft index", wording.Grouped(float64(s.RaftIndex)), r.index, r.rate()),
		fit(fmt.Sprintf("%-*s%s", liveTitle, "  nodes", byStatus(s.Nodes)), tableWidth),
	}
}

// rate is the recent growth of the log, in time of the run's clock.
func (r liveRun) rate() string {
	since := max(r.last.AtS-liveRate, r.index.AtS[0])
	if r.last.AtS <= since {
		return ""
	}
	grown := float64(r.last.RaftIndex) - r.index.At(since)
	return wording.SI(math.Round(max(grown, 0)/(r.last.AtS-since))) + " entries/s"
}

// byStatus counts the nodes of each status, those that serve first.
func byStatus(nodes map[string]int) string {
	known := []string{"ready", "initializing", "disconnected", "down"}
	var parts []string
	others := slices.DeleteFunc(slices.Sorted(maps.Keys(nodes)), func(name string) bool { return slices.Contains(known, name) })
	for _, name := range append(known, others...) {
		if n := nodes[name]; n > 0 {
			parts = append(parts, wording.Grouped(float64(n))+" "+name)
		}
	}
	if len(parts) == 0 {
		return "none yet"
	}
	return strings.Join(parts, ", ")
}

// columns spreads a series over n columns of equal time. A column has the highest value of its
// stretch, or an interpolated one if it has no point.
func columns(s metrics.Series, n int) []float64 {
	if len(s.AtS) == 0 {
		return nil
	}
	from, to := s.AtS[0], s.AtS[len(s.AtS)-1]
	out := make([]float64, n)
	width := (to - from) / float64(n)
	for i := range out {
		out[i] = s.At(from + (float64(i)+0.5)*width)
	}
	for i, at := range s.AtS {
		if width > 0 {
			col := min(int((at-from)/width), n-1)
			out[col] = max(out[col], s.Value[i])
		}
	}
	return out
}

// sparkline draws values as one line of block characters, width columns wide. The highest
// value of all is the highest block. Each column shows the highest of its values, so that no
// peak is lost, and anything above zero shows. Fewer values than columns leave the rest blank.
func sparkline(values []float64, width int) string {
	levels := []rune("▁▂▃▄▅▆▇█")
	highest := 0.0
	for _, v := range values {
		highest = math.Max(highest, v)
	}
	var b strings.Builder
	columns := min(len(values), max(width, 0))
	for i := range columns {
		peak := 0.0
		for _, v := range values[i*len(values)/columns : (i+1)*len(values)/columns] {
			peak = math.Max(peak, v)
		}
		if peak > 0 {
			b.WriteRune(levels[min(int(peak/highest*float64(len(levels))), len(levels)-1)])
		} else {
			b.WriteByte('_')
		}
	}
	b.WriteString(strings.Repeat(" ", max(width, 0)-columns))
	return b.String()
}
