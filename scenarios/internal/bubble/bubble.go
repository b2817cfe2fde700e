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
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simctl/simctl/internal/rusage"
	"github.com/simctl/simctl/internal/standstill"
	"github.com/simctl/simctl/scenarios/internal/garbage"
)

const (
	// pollVirtual is how often, in virtual time, the bubble looks for a cancellation.
	pollVirtual = time.Second
	// pollWall is how often the world outside looks at the bubble.
	pollWall = 50 * time.Millisecond
)

// defaultStall is how long virtual time may stand still before Run gives up; see
// [standstill.Watch].
const defaultStall = 30 * time.Second

// silence is how much virtual time may pass without a word of the function. What runs in the
// bubble takes samples at least every second while it makes progress.
const silence = 6 * time.Hour

// World is what a function in the bubble may know of the world outside. Its methods are
// safe for concurrent use.
type World struct {
	wall   atomic.Int64
	beats  atomic.Uint64 // of the function, and of virtual time that passes
	alive  atomic.Uint64 // of the function alone
	silent atomic.Bool
	cancel atomic.Bool
}

// Wall returns the wall time since Run was called, as of at most pollWall ago. It must not
// reach the outcome of a run, unless it ends it.
func (w *World) Wall() time.Duration { return time.Duration(w.wall.Load()) }

// Alive tells the watchdogs that the function goes on: that virtual time stands still, or that
// much of it passes, is in order.
func (w *World) Alive() {
	w.alive.Add(1)
	w.beats.Add(1)
}

// busy is true while a Run goes on.
var busy atomic.Bool

// Run runs f on virtual time, which begins at midnight UTC on 2000-01-01, and returns f's
// error. f's context is done soon after ctx is: contexts and channels from outside must
// not be waited for inside, so f gets one of its own. Every goroutine that f started must
// have ended when f returns. Another Run that goes on in this process is an error: both would draw
// from the random sources that the packages of a process share, such as Raft's.
//
// The error is f's, or says that f panicked, that its goroutines are deadlocked or left behind, that
// virtual time stood still for longer than stall (zero: defaultStall), or that so much of it passed
// since f was last Alive that f will not end. Virtual time stands still if a goroutine computes
// without end, or waits for something that the bubble does not know, such as a mutex: the error has
// the stacks of those goroutines. After a stall or such a silence the goroutines
// live on: the process is good for nothing but reporting the error. A panic on a goroutine other
// than f's own ends the process, as always.
func Run(ctx context.Context, stall time.Duration, f func(context.Context, *World) error) error {
	if !busy.CompareAndSwap(false, true) {
		return errors.New("another run on virtual time goes on in this process: run one after the other, or each in a process of its own")
	}
	defer busy.Store(false)
	if stall <= 0 {
		stall = defaultStall
	}
	w := &World{}
	w.cancel.Store(ctx.Err() != nil)
	done := make(chan error, 1)
	go func() { done <- inside(w, f) }()

	start := time.Now()
	tick := time.NewTicker(pollWall)
	defer tick.Stop()
	watch := standstill.Watch{Limit: stall}
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
		// The watchdog counts ticks, not time: a suspended process is not a stalled one.
		if watch.Look(w.beats.Load(), pollWall, rusage.CPU()) {
			return fmt.Errorf("virtual time stood still for %v of wall time: a goroutine computes without end, or waits for a mutex or for something outside the bubble\n%s", stall, standstill.Holding())
		}
		if w.silent.Load() {
			return fmt.Errorf("%v of virtual time passed in which the run did not go on: something waits for what does not come\n%s", silence, standstill.Stacks())
		}
	}
}

// inside enters the bubble and turns its panics into errors.
func inside(w *World, f func(context.Context, *World) error) (err error) {
	defer func() {
		// The bubble panics here when its goroutines are deadlocked.
		if p := recover(); p != nil {
			err = fmt.Errorf("virtual time: %v\n%s", p, standstill.Stacks())
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
	alive, since := w.alive.Load(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-t.C:
			w.beats.Add(1)
			if now := w.alive.Load(); now != alive {
				alive, since = now, time.Now()
			}
			if time.Since(since) > silence {
				w.silent.Store(true)
				<-ctx.Done() // so that the world outside notices before much more time passes
			}
			if w.cancel.Load() {
				cancel()
			}
			if garbage.Due() {
				synctest.Wait() // for all others to wait for virtual time: nobody can run on another processor
				garbage.Collect()
			}
		}
	}
}
