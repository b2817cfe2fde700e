package process

import (
	"encoding/json"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"

	"github.com/simctl/simctl/internal/rusage"
)

// A run holds the state of every server. At Go's default, which keeps as much garbage as there
// is live data, collecting takes a quarter of its CPU time. So a child process fills its share
// of heapBudget: it keeps more garbage while the live data is small. Once the data takes more than
// half of the share, it keeps as much garbage as data, up to heapMost. A larger run keeps as much
// garbage as data less half of heapMost, up to heapLarge, and 35% beyond.

const (
	// heapBudget is for all children together: two of the default size stay below 1.5 GiB.
	heapBudget = 1024 << 20
	// heapMost is for one child: a million evaluations stay below 2.5 GB.
	heapMost = 1920 << 20
	// heapLarge is for one child, too: 100,000 nodes and 20 system jobs take 8 GB.
	heapLarge = 3 * heapMost
)

// Heap says how large a heap may grow before it collects garbage in earnest. It may grow to Share
// bytes, and to twice the live data up to Most. It may also grow to twice the live data less half of
// Most, up to Large. A limit of Share or less says nothing. Within bounds all that the process holds,
// stacks and garbage included, for as long as the live data allow that; zero means no bound.
type Heap struct{ Share, Most, Large, Within int }

// Goal returns the bytes that the heap may grow to.
func (h Heap) Goal(live uint64) uint64 {
	usual := min(2*live, uint64(h.Most))
	large := min(2*live-min(2*live, uint64(h.Most/2)), uint64(h.Large))
	return max(uint64(h.Share), usual, large)
}

// Under returns the heap of a process that should keep below so many bytes; zero says nothing.
func (h Heap) Under(memory int64) Heap {
	if memory <= 0 {
		return h
	}
	most := int(memory / 5 * 4) // stacks and fragments come on top
	return Heap{min(h.Share, most), min(h.Most, most), min(h.Large, most), int(memory / 10 * 9)}
}

// Heaps returns the heap of each child if RunAll runs them, and how many of them go on at a time.
func Heaps(children []Child) (heaps []Heap, side int) {
	side = min(max(2, runtime.NumCPU()), max(1, len(children)))
	for i, share := range heapShares(children, side) {
		heaps = append(heaps, Heap{share, heapMost, heapLarge, 0}.Under(children[i].Memory))
	}
	return heaps, side
}

// heapShares divides heapBudget among children, of which so many run side by side. If all of
// them do, a child with more work gets more memory, since it ends last.
func heapShares(children []Child, side int) []int {
	shares := make([]int, len(children))
	if len(children) > side {
		for i := range shares {
			shares[i] = heapBudget / side
		}
		return shares
	}
	sum := 0
	for _, c := range children {
		sum += c.Weight
	}
	for i, c := range children {
		shares[i] = c.Weight * (heapBudget / sum)
	}
	return shares
}

// heapVar is the environment variable with a child's Heap, as JSON.
const heapVar = "SIMCTL_HEAP"

// gcPercent returns the GOGC at which the heap grows to what it may, 35 to 400.
func gcPercent(live uint64, heap Heap) int {
	if live == 0 {
		return 400
	}
	return int(min(max(heap.Goal(live)/(live/100+1), 135), 500)) - 100
}

// tuneGC adapts GOGC to the live data until stop is called. It does nothing if the user has set
// GOGC or GOMEMLIMIT, or if nothing says how large the heap may be.
func tuneGC() (stop func()) {
	var heap Heap
	if err := json.Unmarshal([]byte(os.Getenv(heapVar)), &heap); err != nil || os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	// A bound that is passed already would have Go collect all the time, and keep nothing small.
	if uint64(heap.Within) > rusage.PeakRSS() {
		debug.SetMemoryLimit(int64(heap.Within))
	}
	done := make(chan struct{})
	var ended sync.WaitGroup
	ended.Go(func() {
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		before := 100
		for {
			metrics.Read(live)
			// Setting it stops the world, so only when it makes a difference.
			if now := gcPercent(live[0].Value.Uint64(), heap); now > before+10 || now < before-10 {
				debug.SetGCPercent(now)
				before = now
			}
			select {
			case <-tick.C:
			case <-done:
				debug.SetGCPercent(100)
				debug.SetMemoryLimit(math.MaxInt64)
				return
			}
		}
	})
	return func() { close(done); ended.Wait() }
}
