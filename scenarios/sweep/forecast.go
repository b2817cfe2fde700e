package sweep

import (
	"slices"
	"sync"
	"time"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios"
)

// Forecast says how long a sweep will take: first by estimates of its runs, then corrected by
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
	estimate float64
	since    time.Time
	done     float64 // its share, 0 to 1
}

// NewForecast returns a forecast for runs of which side go on at a time.
func NewForecast(side int) *Forecast {
	return &Forecast{side: side, started: map[string]*underway{}}
}

// Expect adds a run that is to come.
func (f *Forecast) Expect(spec scenarios.Spec) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.left = append(f.left, Cost(spec).CPUS)
}

// Learn takes in how long a run of an earlier sweep took.
func (f *Forecast) Learn(spec scenarios.Spec, host metrics.Host) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.estimated += Cost(spec).CPUS
	f.took += host.WallS
}

// Started says that an expected run has started.
func (f *Forecast) Started(key string, spec scenarios.Spec, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	cost := Cost(spec).CPUS
	if i := slices.Index(f.left, cost); i >= 0 {
		f.left = slices.Delete(f.left, i, i+1)
	}
	f.started[key] = &underway{estimate: cost, since: now}
}

// Progress says which share, 0 to 1, of a run is done.
func (f *Forecast) Progress(key string, done float64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if u := f.started[key]; u != nil {
		u.done = done
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
	f.estimated += u.estimate
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
		add(u.estimate * (1 - u.done))
	}
	// A run keeps to one processor, so the longest one bounds the whole.
	return time.Duration(factor * max(sum/float64(f.side), last) * float64(time.Second))
}
