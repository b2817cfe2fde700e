package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/forecast"
)

// progress shows how far the runs are. Many goroutines may call update. close must come
// after the last update, and completes what stderr shows.
type progress interface {
	update(run int, p scenarios.Progress)
	close()
}

// newProgress returns a live view (for runs in real time) or bars if stderr is a terminal,
// status lines if it is anything else, and nothing if quiet is set.
func newProgress(stderr io.Writer, quiet, live bool, runs []scenarios.Spec) progress {
	if quiet {
		return silence{}
	}
	var names []string
	var paces []forecast.Pace
	for _, spec := range runs {
		names, paces = append(names, spec.Broker), append(paces, forecast.Pace{Cost: forecast.Of(spec)})
	}
	switch {
	case !isTerminal(stderr):
		return newStatusLines(stderr, names, paces)
	case live && len(names) <= liveRuns:
		return newLiveView(stderr, useColor(stderr), names)
	}
	return newBars(stderr, names, paces)
}

type silence struct{}

func (silence) update(int, scenarios.Progress) {}
func (silence) close()                         {}

// bars draws one bar per run, which fills once over all phases.
type bars struct {
	container *mpb.Progress
	bars      []*mpb.Bar

	mu    sync.Mutex
	last  []scenarios.Progress
	paces []forecast.Pace
	left  []string // behind the bar
}

// barSteps is the resolution of a bar.
const barSteps = 1000

func newBars(w io.Writer, names []string, paces []forecast.Pace) *bars {
	b := &bars{
		container: mpb.New(mpb.WithOutput(w), mpb.WithAutoRefresh(), mpb.WithRefreshRate(200*time.Millisecond)),
		last:      make([]scenarios.Progress, len(names)),
		paces:     paces, left: make([]string, len(names)),
	}
	for i, name := range names {
		b.bars = append(b.bars, b.container.AddBar(barSteps,
			mpb.BarWidth(24),
			mpb.PrependDecorators(decor.Any(func(decor.Statistics) string {
				b.mu.Lock()
				defer b.mu.Unlock()
				return fmt.Sprintf("%-*s %-52s", longest(names), name, describe(b.last[i]))
			})),
			mpb.AppendDecorators(decor.Any(func(decor.Statistics) string {
				b.mu.Lock()
				defer b.mu.Unlock()
				return b.left[i]
			})),
		))
	}
	return b
}

func (b *bars) update(run int, p scenarios.Progress) {
	b.mu.Lock()
	b.last[run], b.left[run] = p, left(&b.paces[run], p)
	b.mu.Unlock()
	b.bars[run].SetCurrent(int64(p.Share() * barSteps))
}

func (b *bars) close() {
	for _, bar := range b.bars {
		bar.Abort(false) // keeps the bar as it stands; does nothing to a full one
	}
	b.container.Wait()
}

// statusLines prints one line per run whenever its phase changes, and every few seconds.
type statusLines struct {
	w     io.Writer
	names []string

	mu    sync.Mutex
	last  []scenarios.Progress
	paces []forecast.Pace
	due   []time.Time
}

// statusEvery is how often a run that stays in its phase prints a line.
const statusEvery = 5 * time.Second

func newStatusLines(w io.Writer, names []string, paces []forecast.Pace) *statusLines {
	return &statusLines{w: w, names: names, last: make([]scenarios.Progress, len(names)), paces: paces, due: make([]time.Time, len(names))}
}

func (s *statusLines) update(run int, p scenarios.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, text := time.Now(), describe(p)+left(&s.paces[run], p)
	if p.Phase == s.last[run].Phase && now.Before(s.due[run]) {
		return
	}
	s.last[run], s.due[run] = p, now.Add(statusEvery)
	fmt.Fprintf(s.w, "%-*s %s\n", longest(s.names)+1, s.names[run]+":", text)
}

func (s *statusLines) close() {}

// left says how long a run still takes; "" if nobody can know.
func left(pace *forecast.Pace, p scenarios.Progress) string {
	left, ok := pace.Left(time.Now(), p)
	if !ok {
		return ""
	}
	return " " + roughly(left) + " left"
}

// describe describes where a run is, in columns of constant width.
func describe(p scenarios.Progress) string {
	if p.Phase == "" {
		return "starting"
	}
	at := time.Duration(p.VirtualS * float64(time.Second)).Round(time.Second)
	return fmt.Sprintf("%d/%d %-8s at %7s %6d pending %6d cancelable", p.PhaseIndex+1, p.Phases, p.Phase, at, p.Pending, p.Cancelable)
}

func longest(names []string) int {
	n := 0
	for _, name := range names {
		n = max(n, len(name))
	}
	return n
}

// isTerminal reports whether w is a terminal that understands escape sequences.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd()) && os.Getenv("TERM") != "dumb"
}

// useColor reports whether to write colours to w: only if it is a terminal and NO_COLOR is
// not set (https://no-color.org).
func useColor(w io.Writer) bool { return isTerminal(w) && os.Getenv("NO_COLOR") == "" }
