package virtualtest

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simctl/simctl/internal/rusage"
	"github.com/simctl/simctl/internal/standstill"
)

const (
	// deadline is how much virtual time Test lets a test take.
	deadline = 4 * time.Hour
	// beat is how often the bubble shows that virtual time moves, and look how often the world
	// outside looks, in wall time.
	beat = time.Second
	look = 100 * time.Millisecond
)

// still is how long virtual time may stand still: far longer than any test computes. It is a variable for the test of
// this package, which sets it lower.
var still = 90 * time.Second

// Test is synctest.Test for a test that takes no more than four hours of virtual time.
func Test(t *testing.T, f func(*testing.T)) {
	t.Helper()
	Run(t, deadline, f)
}

// Run is synctest.Test for a test that takes no more than so much virtual time, its cleanups
// included. One that takes more, or in which virtual time stands still, ends the process with
// a panic that says where it hangs: nothing else can end its goroutines.
func Run(t *testing.T, within time.Duration, f func(*testing.T)) {
	t.Helper()
	var beats atomic.Uint64
	over := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { watch(t.Name(), &beats, over) })
	defer watching.Wait()
	defer close(over)
	synctest.Test(t, func(t *testing.T) {
		// Off the round instants that the timers of tests fall on.
		late := time.AfterFunc(within+time.Nanosecond, func() {
			panic(fmt.Sprintf("%s: more than %v of virtual time passed, and the test goes on\n%s", t.Name(), within, standstill.Stacks()))
		})
		done := make(chan struct{})
		var beating sync.WaitGroup
		beating.Go(func() {
			ticker := time.NewTicker(beat + 997*time.Nanosecond)
			defer ticker.Stop()
			for {
				select {
				case <-done:
					return
				case <-ticker.C:
					beats.Add(1)
				}
			}
		})
		t.Cleanup(func() { // the last one: tests register theirs later
			late.Stop()
			close(done)
			beating.Wait()
		})
		f(t)
	})
}

// watch ends the process when virtual time stands still.
func watch(test string, beats *atomic.Uint64, over <-chan struct{}) {
	w := standstill.Watch{Limit: still}
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for {
		select {
		case <-over:
			return
		case <-ticker.C:
			if w.Look(beats.Load(), look, rusage.CPU()) {
				panic(fmt.Sprintf("%s: virtual time stood still for %v\n%s", test, still, standstill.Holding()))
			}
		}
	}
}
