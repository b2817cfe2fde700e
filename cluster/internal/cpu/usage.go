package cpu

import (
	"sync"
	"time"
)

// Usage turns two totals that grow, what was used and what there was, into the share that
// was used from one look to the next.
type Usage struct {
	at       time.Time
	used, of time.Duration
	share    float64
}

// Look returns the share since the look before; at the same instant, that one's.
func (u *Usage) Look(now time.Time, used, of time.Duration) float64 {
	if !now.After(u.at) {
		return u.share
	}
	u.share = 0
	if of > u.of {
		// What was begun while there was more of it may end while there is less.
		u.share = min(float64(used-u.used)/float64(of-u.of), 1)
	}
	u.at, u.used, u.of = now, used, of
	return u.share
}

// Workload adds up for how long workers served, and for how much of that they had an
// evaluation in hand. The zero value is ready to use.
type Workload struct {
	mu             sync.Mutex
	at             time.Time
	serving, busy  int
	served, worked time.Duration
}

// Change notes that so many workers more began to serve, or to work; fewer if negative.
func (w *Workload) Change(serving, busy int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advance(time.Now())
	w.serving += serving
	w.busy += busy
}

// Totals returns the worker time up to now.
func (w *Workload) Totals(now time.Time) (worked, served time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advance(now)
	return w.worked, w.served
}

func (w *Workload) advance(now time.Time) {
	if span := now.Sub(w.at); span > 0 {
		w.served += time.Duration(w.serving) * span
		w.worked += time.Duration(w.busy) * span
		w.at = now
	}
}
