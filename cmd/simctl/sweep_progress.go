package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/vbauerster/mpb/v8"
	"github.com/vbauerster/mpb/v8/decor"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/forecast"
	"github.com/simctl/simctl/scenarios/sweep"
)

// sweepProgress shows how far a sweep is: a bar on a terminal, else a line now and then. It
// reports failures even if quiet. Its methods may be called by many goroutines.
type sweepProgress struct {
	w        io.Writer // stderr, or the container of the bar, which prints above it
	quiet    bool
	study    *sweep.Study
	executor sweep.Executor
	forecast *forecast.Forecast

	mu              sync.Mutex
	total, most     int
	done, kept      int
	failed, running int
	said            string    // the last status line printed
	due             time.Time // of the next status line
	container       *mpb.Progress
	bar             *mpb.Bar

	// text is the text before the bar. It is atomic because drawing the bar must not wait
	// for mu, which is held while the bar is updated.
	text atomic.Pointer[string]
}

func newSweepProgress(w io.Writer, f *sweepFlags, executor sweep.Executor) *sweepProgress {
	return &sweepProgress{w: w, quiet: f.quiet, study: &f.study, executor: executor, forecast: forecast.New(executor.Side())}
}

// preview prints what would run.
func (s *sweepProgress) preview(runs []sweep.Run, most int) {
	s.expect(runs, most, nil)
	s.announce(runs)
}

// plannedSweep is what would run, as JSON. Most is the number of runs that a search for a knee can
// come to; of other sweeps all runs are planned.
type plannedSweep struct {
	Scenario  string       `json:"scenario"`
	Parallel  int          `json:"parallel"`
	EstimateS float64      `json:"estimate_s"`
	Most      int          `json:"most_runs"`
	Runs      []plannedRun `json:"runs"`
}

type plannedRun struct {
	Settings  map[string]string `json:"settings"`
	Broker    string            `json:"broker"`
	Seed      int64             `json:"seed"`
	EstimateS float64           `json:"estimate_s"`
	MemoryB   float64           `json:"memory_bytes"`
}

// document is what preview prints, run by run.
func (s *sweepProgress) document(runs []sweep.Run) plannedSweep {
	out := plannedSweep{s.study.Base.Scenario, s.executor.Side(), s.forecast.Left().Seconds(), s.most, []plannedRun{}}
	for _, r := range runs {
		cost, settings := forecast.Of(r.Spec), map[string]string{}
		for i, a := range s.study.Axes {
			if r.Point[i] != "" {
				settings[a.Name] = r.Point[i]
			}
		}
		out.Runs = append(out.Runs, plannedRun{settings, r.Spec.Broker, r.Spec.Seed, cost.CPUS, math.Round(cost.Memory)})
	}
	return out
}

// plan describes in one line what will run and how long it will take.
func (s *sweepProgress) plan() string {
	st := s.study
	each := max(1, len(st.Brokers)*len(st.Seeds))
	parts := []string{fmt.Sprintf("%s: %s", english.Plural(s.total, "run", ""), english.Plural(s.total/each, "cell", ""))}
	left := "about %s in all"
	if st.Design.Kind == sweep.Knee {
		parts = []string{fmt.Sprintf("%d to %s: %s to search", s.total, english.Plural(s.most, "run", ""), english.Plural(s.total/each, "knee", ""))}
		left = "about %s for the first step of each"
	}
	if slices.ContainsFunc(st.Axes, func(a sweep.Axis) bool { return a.Only != nil }) { // the runs are no product of cells, brokers and seeds
		parts = []string{english.Plural(s.total, "run", "") + ": some under one broker only"}
	} else {
		parts[0] += fmt.Sprintf(" × %s × %s", english.Plural(len(st.Brokers), "broker", ""), english.Plural(len(st.Seeds), "seed", ""))
	}
	if s.kept > 0 {
		parts = append(parts, fmt.Sprintf("%d finished before", s.kept))
	}
	where := fmt.Sprintf("%d at a time", s.executor.Side())
	if local, ok := s.executor.(*sweep.Local); ok {
		where += fmt.Sprintf(" in %.1f GiB of memory", float64(local.Memory())/(1<<30))
	}
	if st.MaxTime > 0 {
		left += fmt.Sprintf(" but at most %s by --max-time", roughly(st.MaxTime))
	}
	return strings.Join(append(parts, fmt.Sprintf(left, roughly(s.forecast.Left())), where), ", ")
}

// Expect implements sweep.Watcher.
func (s *sweepProgress) Expect(planned []sweep.Run, most int, kept []metrics.SweepRun) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expect(planned, most, kept)
	if s.quiet {
		return
	}
	s.announce(planned)
	s.tell()
	if isTerminal(s.w) {
		s.container = mpb.New(mpb.WithOutput(s.w), mpb.WithAutoRefresh(), mpb.WithRefreshRate(200*time.Millisecond))
		s.bar = s.container.AddBar(int64(s.expected()), mpb.BarWidth(40),
			mpb.PrependDecorators(decor.Any(func(decor.Statistics) string { return *s.text.Load() })))
		s.bar.SetCurrent(int64(s.done))
		s.w = s.container
	}
}

// expect starts the forecast of the runs that are planned, less those that are kept.
func (s *sweepProgress) expect(planned []sweep.Run, most int, kept []metrics.SweepRun) {
	s.total, s.most, s.kept, s.done = len(planned), most, len(kept), len(kept)
	known := map[string]*metrics.Result{}
	key := func(point []string, broker string, seed int64) string { return fmt.Sprint(point, broker, seed) }
	for _, k := range kept {
		known[key(k.Point, k.Broker, k.Seed)] = k.Result
	}
	for _, r := range planned {
		if res := known[key(r.Point, r.Spec.Broker, r.Spec.Seed)]; res != nil {
			s.forecast.Learn(r.Spec, res.Host)
		} else {
			s.forecast.Expect(r.Spec)
		}
	}
}

// announce prints the plan, and warns of the largest run if it does not fit into the memory
// of this machine even alone.
func (s *sweepProgress) announce(planned []sweep.Run) {
	fmt.Fprintln(s.w, s.plan())
	s.warnOverload(planned)
	local, ok := s.executor.(*sweep.Local)
	if !ok {
		return
	}
	var largest sweep.Run
	most, beyond := 0.0, 0
	for _, r := range planned {
		if local.Fits(r.Spec) {
			continue
		}
		beyond++
		if m := forecast.Of(r.Spec).Memory; m > most {
			largest, most = r, m
		}
	}
	if beyond > 0 {
		fmt.Fprintf(s.w, "warning: %s needs about %.1f GiB of memory: it runs alone, and may swap or be killed", s.study.Label(largest), most/(1<<30))
		if beyond > 1 {
			fmt.Fprintf(s.w, "; so %s %s", english.PluralWord(beyond-1, "does", "do"), english.Plural(beyond-1, "other run", ""))
		}
		fmt.Fprintln(s.w)
	}
}

// warnOverload warns of runs that may take far longer than estimated, by the worst of them.
func (s *sweepProgress) warnOverload(planned []sweep.Run) {
	var worst sweep.Run
	most, slow := 0.0, 0
	for _, r := range planned {
		busy := forecast.Of(r.Spec).Overload()
		if busy > 0 {
			slow++
		}
		if busy > most {
			worst, most = r, busy
		}
	}
	if slow > 0 {
		fmt.Fprintf(s.w, "warning: %d of %s may each take up to %d times as long as estimated, if the leader, which heartbeats alone keep busy (%.0f%% in %s), falls behind\n",
			slow, english.Plural(len(planned), "run", ""), forecast.Runaway, 100*most, s.study.Label(worst))
	}
}

// expected returns the number of runs to expect. The search for a knee may exceed its total.
func (s *sweepProgress) expected() int { return max(s.total, s.done+s.running) }

func (s *sweepProgress) status() string {
	text := fmt.Sprintf("%d of %s done, %d under way", s.done, english.Plural(s.expected(), "run", ""), s.running)
	if s.study.Design.Kind == sweep.Knee {
		text = fmt.Sprintf("%s done (at most %d), %d under way", english.Plural(s.done, "run", ""), s.most, s.running)
	}
	if s.failed > 0 {
		text += fmt.Sprintf(", %d failed", s.failed)
	}
	if left := s.forecast.Left(); left > 0 {
		text += fmt.Sprintf(", about %s left", roughly(left))
	}
	return text
}

// waits prints why runs wait on a cluster.
func (s *sweepProgress) waits(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.w, "waiting to be placed by Nomad: %s\n", why)
}

// Started implements sweep.Watcher.
func (s *sweepProgress) Started(r sweep.Run, _ string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.study.Design.Kind == sweep.Knee && s.done+s.running >= s.total {
		s.forecast.Expect(r.Spec) // not planned
	}
	s.running++
	s.forecast.Started(r.Key(), r.Spec, time.Now())
}

// Progress implements sweep.Watcher.
func (s *sweepProgress) Progress(r sweep.Run, p scenarios.Progress) {
	s.forecast.Progress(r.Key(), p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.line(false)
}

// tell updates the text before the bar, which is the status that it returns.
func (s *sweepProgress) tell() string {
	status := s.status()
	text := status + " "
	s.text.Store(&text)
	return status
}

// line prints the status if a line is due or now is set. With a bar it only updates the
// bar's text.
func (s *sweepProgress) line(now bool) {
	status := s.tell()
	if s.quiet || s.bar != nil || status == s.said || !now && time.Now().Before(s.due) {
		return
	}
	s.due, s.said = time.Now().Add(statusEvery), status
	fmt.Fprintln(s.w, status)
}

// Retried implements sweep.Watcher.
func (s *sweepProgress) Retried(_ sweep.Run, label string, why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.quiet {
		fmt.Fprintf(s.w, "%s failed and is tried once more: %v\n", label, why)
	}
}

// Ended implements sweep.Watcher.
func (s *sweepProgress) Ended(r sweep.Run, label string, out metrics.SweepRun) {
	s.forecast.Ended(r.Key(), time.Now())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	s.done++
	if out.Error != "" {
		s.failed++
		fmt.Fprintf(s.w, "%s failed: %s\n", label, out.Error)
	}
	if s.bar != nil {
		s.bar.SetTotal(int64(s.expected()), false)
		s.bar.SetCurrent(int64(s.done))
	}
	s.line(false)
}

// close completes what stderr shows.
func (s *sweepProgress) close() {
	s.mu.Lock()
	bar, container := s.bar, s.container
	s.line(s.total > 0)
	s.mu.Unlock()
	if bar != nil {
		bar.Abort(false) // keeps the bar as it stands; does nothing to a full one
		container.Wait()
	}
}

// roughly words a duration with the precision of an estimate.
func roughly(d time.Duration) string {
	switch {
	case d < 90*time.Second:
		return fmt.Sprintf("%d s", max(1, int(d.Seconds()+0.5)))
	case d < 90*time.Minute:
		return fmt.Sprintf("%d min", int(d.Minutes()+0.5))
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}
