package forecast

import (
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios"
)

// Forecast says how long many runs will take: first by estimates of its runs, then corrected by
// how long they took. Its methods may be called from any goroutine.
type Forecast struct {
	side int

	mu      sync.Mutex
	left    []float64 // estimated seconds of the runs that have not started
	started map[string]*underway
	// estimated and took are of runs that have ended, in seconds.
	estimated, took float64
}

// underway is a run that has started.
type underway struct {
	cost  Cost
	since time.Time
	done  float64 // its share, 0 to 1
}

// New returns a forecast for runs of which side go on at a time.
func New(side int) *Forecast {
	return &Forecast{side: side, started: map[string]*underway{}}
}

// Expect adds a run that is to come.
func (f *Forecast) Expect(spec scenarios.Spec) { f.expect(Of(spec)) }

func (f *Forecast) expect(cost Cost) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left = append(f.left, cost.CPUS)
}

// Learn takes in how long a run of an earlier sweep took.
func (f *Forecast) Learn(spec scenarios.Spec, host metrics.Host) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.estimated += Of(spec).CPUS
	f.took += host.WallS
}

// Started says that an expected run has started.
func (f *Forecast) Started(key string, spec scenarios.Spec, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	cost := Of(spec)
	if i := slices.Index(f.left, cost.CPUS); i >= 0 {
		f.left = slices.Delete(f.left, i, i+1)
	}
	f.started[key] = &underway{cost: cost, since: now}
}

// Progress says how far a run has come.
func (f *Forecast) Progress(key string, p scenarios.Progress) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if u := f.started[key]; u != nil {
		u.done = u.cost.Done(p)
	}
}

// Ended says that a run has ended.
func (f *Forecast) Ended(key string, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	u := f.started[key]
	if u == nil {
		return
	}
	delete(f.started, key)
	f.estimated += u.cost.CPUS
	f.took += now.Sub(u.since).Seconds()
}

// Left returns how long everything expected will take from now on.
func (f *Forecast) Left() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	factor := 1.0
	if f.estimated > 0 {
		factor = f.took / f.estimated
	}
	sum, last := 0.0, 0.0
	add := func(cost float64) { sum, last = sum+cost, max(last, cost) }
	for _, cost := range f.left {
		add(cost)
	}
	for _, u := range f.started {
		add(u.cost.CPUS * (1 - u.done))
	}
	// A run keeps to one processor, so the longest one bounds the whole.
	return time.Duration(factor * max(sum/float64(f.side), last) * float64(time.Second))
}

// SideBySide returns how long some runs will take on this machine if scenarios.Run runs them, and
// the memory that they will hold. It is not ok unless that is worth telling of all of them.
func SideBySide(runs []*scenarios.Compiled) (took time.Duration, memory float64, ok bool) {
	heaps, side := scenarios.Heaps(runs)
	f := New(min(side, runtime.NumCPU()))
	var peaks []float64
	for i, r := range runs {
		cost := Of(r.Spec())
		if !cost.Told() {
			return 0, 0, false
		}
		f.expect(cost)
		peaks = append(peaks, cost.Peak(float64(heaps[i].Goal(uint64(cost.Data())))))
	}
	slices.Sort(peaks)
	for _, peak := range peaks[len(peaks)-side:] {
		memory += peak
	}
	return f.Left(), memory, true
}
