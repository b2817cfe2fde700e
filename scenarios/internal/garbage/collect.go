package garbage

import (
	"math"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"

	"github.com/simctl/simctl/internal/rusage"
)

// look is how often the heap is looked at, in wall time.
const look = 50 * time.Millisecond

const (
	// large is the heap from which on it is worthwhile to touch memory on another processor before the run fills it.
	// Smaller runs go on side by side, and leave no processor idle for that.
	large = 2 << 30
	// ahead is how many bytes beyond the heap are kept touched, stacks and fragments included.
	ahead = 512 << 20
)

// patience is how much more garbage there may be than the goal allows, in percent, before Go itself collects it.
const patience = 25

// state is that of the process: there is one heap.
var state struct {
	due        atomic.Bool
	processors atomic.Int32
	goal       atomic.Int64 // bytes that the heap may grow to
	reserved   int          // bytes of it that were reserved
}

// Due reports whether Collect should be called, at the next moment at which nothing else can run.
func Due() bool { return state.due.Load() }

// Collect collects garbage on as many processors as Tune was told of. Nothing whose order matters may be able to run meanwhile.
func Collect() {
	state.due.Store(false)
	before := runtime.GOMAXPROCS(int(max(1, state.processors.Load())))
	if goal := int(state.goal.Load()); goal > state.reserved+state.reserved/4 {
		reserve(goal - state.reserved)
		state.reserved = goal
	}
	runtime.GC()
	runtime.GOMAXPROCS(before)
}

// Reserve has the heap's next bytes backed by huge pages, and collects garbage. Call it while the heap is small, and not
// before Tune: what it reserved is cleared when it is reserved again.
func Reserve(bytes int) {
	reserve(bytes)
	runtime.GC()
}

// Tune keeps the garbage within what the heap may be, by Go's collector and by Due for so many processors, until stop is
// called.
func Tune(heap Heap, processors int) (stop func()) {
	// A bound that is passed already would have Go collect all the time, and keep nothing small.
	if uint64(heap.Within) > rusage.PeakRSS() {
		debug.SetMemoryLimit(int64(heap.Within))
	}
	state.processors.Store(int32(processors))
	state.goal.Store(int64(heap.Share))
	Collect()
	done := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		tick := time.NewTicker(look)
		defer tick.Stop()
		sizes := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
		before := 100
		for {
			metrics.Read(sizes)
			live, all := sizes[0].Value.Uint64(), sizes[1].Value.Uint64()
			growth := heap.growth(live)
			state.goal.Store(int64(live + live*growth/100))
			state.due.Store(live > 0 && all > live+live*growth/100)
			if heap.Within == 0 && all > large && rusage.PeakRSS() < all+ahead {
				touch(ahead / 8)
			}
			// Setting it stops the world, so only when it makes a difference.
			if now := int(growth + growth*patience/100); now > before+10 || now < before-10 {
				debug.SetGCPercent(now)
				before = now
			}
			select {
			case <-tick.C:
			case <-done:
				debug.SetGCPercent(100)
				debug.SetMemoryLimit(math.MaxInt64)
				state.due.Store(false)
				return
			}
		}
	})
	return func() { close(done); ended.Wait() }
}
