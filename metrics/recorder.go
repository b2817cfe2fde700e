package metrics

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

// Recorder collects a Result while a run goes on. NewRecorder makes one. Its methods may be
// called from any goroutine and block on nothing but each other. Instants are those of the
// run's own clock. Misuse, such as samples out of order or phases that overlap, does not
// disturb the run; Result reports it.
type Recorder struct {
	mu        sync.Mutex
	start     time.Time
	series    map[string]*Series
	latencies map[string]*histogram
	fanIn     *histogram
	marks     []Mark
	phases    []Phase
	open      *openPhase
	misuse    []error
}

// Counters are the cumulative counts of a run at one instant. A phase's figures are the
// difference of the counters at its ends.
type Counters struct {
	LastIndex        uint64 // the leader's last Raft log index
	EvalsCreated     uint64
	EvalsProcessed   uint64
	EvalsCanceled    uint64
	PlansSubmitted   uint64
	NodesDown        uint64
	MissedHeartbeats uint64
}

// PhaseEnd is what the runner knows of a phase beyond the counters. Times are those of Phase:
// seconds from the phase's start, -1 for never.
type PhaseEnd struct {
	QueueEmptyS       float64
	RecoveryS         float64
	AllocsReplacedS   float64
	DeploymentS       float64
	RaftEntriesByType map[string]uint64 // in the phase
	RaftAccount       []Expectation     // of the same entries; nil when nobody worked it out
	EvalsByStatus     map[string]uint64 // at the end of the phase
}

type openPhase struct {
	name            string
	start           time.Time
	counters        Counters
	peakPending     float64
	peakCancelable  float64
	cancelable      float64 // the latest sample, as is
	canceled        float64
	cancelsWrittenS float64
}

// NewRecorder returns a Recorder for a run that begins at start.
func NewRecorder(start time.Time) *Recorder {
	return &Recorder{
		start:     start,
		series:    map[string]*Series{},
		latencies: map[string]*histogram{},
		fanIn:     newHistogram(largestFanIn),
	}
}

// Gauge samples a quantity. The samples of one name come in order of time; a value that is not
// finite is misuse. Samples of SeriesPending, SeriesCancelable and SeriesCanceled also set the
// open phase's peaks and the time at which its cancels were written.
func (r *Recorder) Gauge(name, unit string, at time.Time, value float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if math.IsNaN(value) || math.IsInf(value, 0) {
		r.blame("series %s: the sample at %s is %v, which no Result can hold", name, at.Sub(r.start), value)
		return
	}
	s := r.series[name]
	if s == nil {
		s = &Series{Name: name, Unit: unit}
		r.series[name] = s
	}
	atS := r.since(at)
	if n := len(s.AtS); n > 0 && atS < s.AtS[n-1] {
		r.blame("series %s: the sample at %g s comes after one at %g s", name, atS, s.AtS[n-1])
		return
	}
	s.add(atS, value)
	if r.open != nil {
		r.open.sample(name, at, value)
	}
}

// Observe counts a duration towards the latency of that name. It rounds durations to the
// microsecond and cuts them off at a hundred hours.
func (r *Recorder) Observe(name string, d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	h := r.latencies[name]
	if h == nil {
		h = newHistogram(longestLatency.Microseconds())
		r.latencies[name] = h
	}
	h.add(d.Microseconds())
}

// FanIn counts one processed evaluation that stood for n triggers, itself included.
func (r *Recorder) FanIn(n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fanIn.add(int64(n))
}

// Mark names an instant.
func (r *Recorder) Mark(at time.Time, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.marks = append(r.marks, Mark{AtS: r.since(at), Name: name})
}

// BeginPhase opens a phase. The one before it must have ended.
func (r *Recorder) BeginPhase(name string, at time.Time, c Counters) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open != nil {
		r.blame("phase %s begins before phase %s has ended", name, r.open.name)
	}
	r.open = &openPhase{name: name, start: at, counters: c}
	r.open.canceled = r.latest(SeriesCanceled)
	for _, name := range []string{SeriesPending, SeriesCancelable} {
		r.open.sample(name, at, r.latest(name))
	}
}

// latest returns the latest sample of a series; zero when there is none.
func (r *Recorder) latest(name string) float64 {
	s := r.series[name]
	if s == nil || len(s.Value) == 0 {
		return 0
	}
	return s.Value[len(s.Value)-1]
}

// EndPhase closes the open phase.
func (r *Recorder) EndPhase(at time.Time, c Counters, end PhaseEnd) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == nil {
		r.blame("a phase ends at %g s, but none is open", r.since(at))
		return
	}
	r.phases = append(r.phases, r.open.close(r, at, c, end))
	r.open = nil
}

// Result returns what was recorded, with the totals, and with long series thinned. It may be
// called more than once. The error reports misuse of the Recorder.
func (r *Recorder) Result(run Run, invariants []Invariant, host Host) (*Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	misuse := slices.Clone(r.misuse)
	if r.open != nil {
		misuse = append(misuse, fmt.Errorf("phase %s was never ended", r.open.name))
	}
	if err := errors.Join(misuse...); err != nil {
		return nil, fmt.Errorf("recording the run: %w", err)
	}
	res := &Result{
		Schema:     Schema,
		Run:        run,
		Phases:     append([]Phase{}, r.phases...),
		Totals:     Totals(r.phases),
		Series:     []Series{},
		Latencies:  []Latency{},
		FanIn:      r.fanInSummary(),
		Marks:      append([]Mark{}, r.marks...),
		Invariants: append([]Invariant{}, invariants...),
		Host:       host,
	}
	for _, name := range sortedKeys(r.series) {
		s := r.series[name].Thin(maxPoints)
		s.AtS, s.Value = slices.Clone(s.AtS), slices.Clone(s.Value)
		res.Series = append(res.Series, s)
	}
	for _, name := range sortedKeys(r.latencies) {
		res.Latencies = append(res.Latencies, summarise(name, r.latencies[name]))
	}
	slices.SortStableFunc(res.Marks, func(a, b Mark) int { return cmp.Compare(a.AtS, b.AtS) })
	return res, nil
}

func (r *Recorder) fanInSummary() FanIn {
	return FanIn{
		P50:          r.fanIn.quantile(0.50),
		P99:          r.fanIn.quantile(0.99),
		Max:          float64(r.fanIn.highest),
		Distribution: r.fanIn.distribution(1),
	}
}

func summarise(name string, h *histogram) Latency {
	const perSecond = float64(time.Second / time.Microsecond)
	return Latency{
		Name:         name,
		Unit:         "s",
		Count:        uint64(h.hdr.TotalCount()),
		P50:          h.quantile(0.50) / perSecond,
		P90:          h.quantile(0.90) / perSecond,
		P95:          h.quantile(0.95) / perSecond,
		P99:          h.quantile(0.99) / perSecond,
		Max:          float64(h.highest) / perSecond,
		Distribution: h.distribution(perSecond),
	}
}

// since returns the seconds from the run's start to the microsecond. Finer digits would only
// lengthen the file.
func (r *Recorder) since(at time.Time) float64 { return seconds(at.Sub(r.start)) }

func seconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond).Microseconds()) / 1e6
}

// blame notes misuse, within bounds: a broken sampler would fill the memory.
func (r *Recorder) blame(format string, args ...any) {
	const most = 10
	if len(r.misuse) < most {
		r.misuse = append(r.misuse, fmt.Errorf(format, args...))
	}
}

func (p *openPhase) sample(name string, at time.Time, value float64) {
	switch name {
	case SeriesPending:
		p.peakPending = max(p.peakPending, value)
	case SeriesCancelable:
		p.peakCancelable = max(p.peakCancelable, value)
		if p.cancelable > 0 { // true for the last time at the first sample without any; close sees to the rest
			p.cancelsWrittenS = seconds(at.Sub(p.start))
		}
		p.cancelable = value
	case SeriesCanceled:
		// Evaluations may be canceled so soon that no sample sees them cancelable.
		if value > p.canceled {
			p.cancelsWrittenS = seconds(at.Sub(p.start))
		}
		p.canceled = value
	}
}

func (p *openPhase) close(r *Recorder, at time.Time, c Counters, end PhaseEnd) Phase {
	if p.cancelable > 0 {
		p.cancelsWrittenS = never
	}
	diff := func(what string, from, to uint64) uint64 {
		if to < from {
			r.blame("phase %s: %s went back from %d to %d", p.name, what, from, to)
			return 0
		}
		return to - from
	}
	return Phase{
		Name:              p.name,
		StartS:            r.since(p.start),
		EndS:              r.since(at),
		QueueEmptyS:       end.QueueEmptyS,
		RecoveryS:         end.RecoveryS,
		CancelsWrittenS:   p.cancelsWrittenS,
		AllocsReplacedS:   end.AllocsReplacedS,
		DeploymentS:       end.DeploymentS,
		RaftEntries:       diff("the last log index", p.counters.LastIndex, c.LastIndex),
		RaftEntriesByType: cloneCounts(end.RaftEntriesByType),
		RaftAccount:       slices.Clone(end.RaftAccount),

		RaftEntriesExpectedByType: expectedByType(end.RaftAccount),
		EvalsCreated:              diff("evals_created", p.counters.EvalsCreated, c.EvalsCreated),
		EvalsProcessed:            diff("evals_processed", p.counters.EvalsProcessed, c.EvalsProcessed),
		EvalsCanceled:             diff("evals_canceled", p.counters.EvalsCanceled, c.EvalsCanceled),
		EvalsByStatus:             cloneCounts(end.EvalsByStatus),
		PlansSubmitted:            diff("plans_submitted", p.counters.PlansSubmitted, c.PlansSubmitted),
		PeakPending:               uint64(p.peakPending),
		PeakCancelable:            uint64(p.peakCancelable),
		NodesDown:                 diff("nodes_down", p.counters.NodesDown, c.NodesDown),
		MissedHeartbeats:          diff("missed_heartbeats", p.counters.MissedHeartbeats, c.MissedHeartbeats),
	}
}
