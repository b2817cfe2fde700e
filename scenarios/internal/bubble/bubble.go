// Package bubble runs a function on virtual time: the one place outside tests that makes
// use of package testing.
//
// testing/synctest offers a clock that jumps forward whenever every goroutine of a bubble
// is durably blocked, but promises it to tests only. Run hands synctest.Test a zero
// testing.T, on which it calls nothing, and leans on three things that are not promised:
// that synctest.Test accepts one, that it reports a deadlock by a panic which can be
// recovered, and that a passing run writes nothing and changes no state of the process.
// bubble_test.go pins all three, so that a Go release that takes one back is noticed there.
//
// It knows nothing of what it runs.
package bubble

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simctl/simctl/internal/rusage"
)

const (
	// pollVirtual is how often, in virtual time, the bubble looks for a cancellation.
	pollVirtual = 100 * time.Millisecond
	// pollWall is how often the world outside looks at the bubble.
	pollWall = 50 * time.Millisecond
)

// DefaultStall is how long virtual time may stand still before Run gives up: in wall time if
// nothing is computed meanwhile, and else in processor time. Computing takes no virtual time,
// so it must be longer than any stretch of computing.
const DefaultStall = 30 * time.Second

// World is what a function in the bubble may know of the world outside. Its methods are
// safe for concurrent use.
type World struct {
	wall     atomic.Int64
	progress atomic.Uint64
	cancel   atomic.Bool
}

// Wall returns the wall time since Run was called, as of at most pollWall ago. It must not
// reach the outcome of a run, unless it ends it.
func (w *World) Wall() time.Duration { return time.Duration(w.wall.Load()) }

// Alive tells the watchdog that something goes on although virtual time stands still.
func (w *World) Alive() { w.progress.Add(1) }

// Run runs f on virtual time, which begins at midnight UTC on 2000-01-01, and returns f's
// error. f's context is done soon after ctx is: contexts and channels from outside must
// not be waited for inside, so f gets one of its own. Every goroutine that f started must
// have ended when f returns.
//
// The error is f's, or says that f panicked, that its goroutines are deadlocked or left
// behind, or that virtual time stood still for longer than stall (zero: DefaultStall)
// because a goroutine waits for something the bubble does not know, such as a mutex; the
// last three with the stacks of all goroutines. After a stall the goroutines live on: the
// process is good for nothing but reporting the error. A panic on a goroutine other than
// f's own ends the process, as always.
func Run(ctx context.Context, stall time.Duration, f func(context.Context, *World) error) error {
	if stall <= 0 {
		stall = DefaultStall
	}
	w := &World{}
	done := make(chan error, 1)
	go func() { done <- inside(w, f) }()

	start := time.Now()
	tick := time.NewTicker(pollWall)
	defer tick.Stop()
	// The watchdog counts ticks, not time: a suspended process is not a stalled one.
	seen, quiet, computed := w.progress.Load(), time.Duration(0), rusage.CPU()
	for {
		select {
		case err := <-done:
			return err
		case <-tick.C:
		}
		w.wall.Store(int64(time.Since(start)))
		if ctx.Err() != nil {
			w.cancel.Store(true)
		}
		quiet += pollWall
		if now := w.progress.Load(); now != seen {
			seen, quiet, computed = now, 0, rusage.CPU()
		}
		if stalled(quiet, rusage.CPU()-computed, stall) {
			return fmt.Errorf("virtual time stood still for %v of wall time: a goroutine waits for a mutex or for something outside the bubble\n%s", stall, stacks())
		}
	}
}

// stalled reports whether virtual time that has been quiet for so long, while the process
// computed, stands still: nobody computes any more, or for longer than it may take. A process
// that gets a tenth of a processor on a busy machine is slow, and nothing else.
func stalled(quiet, computed, stall time.Duration) bool {
	return quiet >= stall && (computed < quiet/100 || computed >= stall)
}

// inside enters the bubble and turns its panics into errors.
func inside(w *World, f func(context.Context, *World) error) (err error) {
	defer func() {
		// The bubble panics here when its goroutines are deadlocked.
		if p := recover(); p != nil {
			err = fmt.Errorf("virtual time: %v\n%s", p, stacks())
		}
	}()
	synctest.Test(new(testing.T), func(*testing.T) { err = call(w, f) })
	return err
}

func call(w *World, f func(context.Context, *World) error) (err error) {
	ctx, cancel := context.WithCancel(context.Background())
	polled := make(chan struct{})
	go func() {
		defer close(polled)
		w.poll(ctx, cancel)
	}()
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
		cancel()
		<-polled
	}()
	return f(ctx, w)
}

// poll passes a cancellation from outside on to the bubble and shows the watchdog that
// virtual time moves.
func (w *World) poll(ctx context.Context, cancel context.CancelFunc) {
	// Off the round instants that other timers fall on.
	t := time.NewTicker(pollVirtual - 7919*time.Nanosecond)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			w.Alive()
			if w.cancel.Load() {
				cancel()
			}
		}
	}
}

// stacks returns the stacks of all goroutines, cut off at 1 MiB.
func stacks() []byte {
	buf := make([]byte, 1<<20)
	return buf[:runtime.Stack(buf, true)]
}
