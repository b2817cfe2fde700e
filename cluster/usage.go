package cluster

import (
	"sync"
	"time"
)

// usage turns two totals that grow, what was used and what there was, into the share that
// was used from one look to the next.
type usage struct {
	at       time.Time
	used, of time.Duration
	share    float64
}

// look returns the share since the look before; at the same instant, that one's.
func (u *usage) look(now time.Time, used, of time.Duration) float64 {
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

// workload adds up for how long workers served, and for how much of that they had an
// evaluation in hand. The zero value is ready to use.
type workload struct {
	mu             sync.Mutex
	at             time.Time
	serving, busy  int
	served, worked time.Duration
}

// change notes that so many workers more began to serve, or to work; fewer if negative.
func (w *workload) change(serving, busy int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advance(time.Now())
	w.serving += serving
	w.busy += busy
}

// totals returns the worker time up to now.
func (w *workload) totals(now time.Time) (worked, served time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.advance(now)
	return w.worked, w.served
}

func (w *workload) advance(now time.Time) {
	if span := now.Sub(w.at); span > 0 {
		w.served += time.Duration(w.serving) * span
		w.worked += time.Duration(w.busy) * span
		w.at = now
	}
}
