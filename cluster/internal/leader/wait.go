package leader

import (
	"context"
	"sync"
	"time"
)

// Ways to wait that end with a context, and timers that can be joined.

// Sleep sleeps until ctx is done or d has passed.
func Sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// Every calls f at every tick until ctx is done.
func Every(ctx context.Context, interval time.Duration, f func()) {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			f()
		}
	}
}

// until returns how long it is until the wall clock of a server shows a time, unless the clock is
// set meanwhile.
func until(l Log, at time.Time) time.Duration { return at.Sub(l.Wall()) }

// await waits until the channel yields or a server's wall clock shows a time, and reports which;
// zero is no time. A clock that is set meanwhile is not noticed, as no timer in Go notices it. It
// returns false when ctx is done.
func await(ctx context.Context, woken <-chan struct{}, clock Log, at time.Time) (due bool) {
	var timer <-chan time.Time
	if !at.IsZero() {
		timer = time.After(until(clock, at))
	}
	select {
	case <-ctx.Done():
	case <-woken:
	case <-timer:
		due = true
	}
	return due && ctx.Err() == nil
}

// Wake makes a channel with room for one yield. It never blocks.
func Wake(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Notifier wakes everybody who waits. The zero value is ready.
type Notifier struct {
	mu      sync.Mutex
	changed chan struct{} // closed by the next Notify; nil while nobody waits
}

// Notify makes all who wait look at their conditions.
func (n *Notifier) Notify() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.changed != nil {
		close(n.changed)
		n.changed = nil
	}
}

// Wait returns once a condition holds, which it looks at now and at every Notify, or when
// ctx ends. A Notify at the instant of the call may come before it or after: what counts
// is the condition.
func (n *Notifier) Wait(ctx context.Context, holds func() bool) {
	for ctx.Err() == nil {
		n.mu.Lock()
		if n.changed == nil {
			n.changed = make(chan struct{})
		}
		changed := n.changed
		n.mu.Unlock()
		if holds() {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// timers counts the timers that are armed or whose functions run, so that they can be
// joined. The zero value is ready.
type timers struct{ sync.WaitGroup }

// after calls f on a goroutine of its own once d has passed.
func (t *timers) after(d time.Duration, f func()) *time.Timer {
	t.Add(1)
	return time.AfterFunc(d, func() {
		defer t.Done()
		f()
	})
}

// disarm stops a timer of after, unless it is nil, and reports whether that was in time.
func (t *timers) disarm(timer *time.Timer) bool {
	stopped := timer != nil && timer.Stop()
	if stopped {
		t.Done()
	}
	return stopped
}
