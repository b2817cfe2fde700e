package process

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"sync"
	"time"
)

// A run holds the state of every server. At Go's default, which keeps as much garbage as there
// is live data, collecting takes a quarter of its CPU time. So a child process fills its share
// of heapBudget: it keeps more garbage while the live data is small, and less once the data
// alone fills the budget.

// heapBudget is for all children together: two of the default size stay below 1.5 GiB.
const heapBudget = 1024 << 20

// Heaps returns the bytes that the heap of each child may grow to if RunAll runs them, and how many
// of them go on at a time.
func Heaps(children []Child) (heaps []int, side int) {
	side = min(max(2, runtime.NumCPU()), max(1, len(children)))
	heaps = heapShares(children, side)
	for i, c := range children {
		if c.Memory > 0 {
			heaps[i] = min(heaps[i], int(c.Memory/5*4)) // the collector knows nothing of what is beside the heap
		}
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

// budgetVar is the environment variable with a child's share, in bytes.
const budgetVar = "SIMCTL_HEAP_BUDGET"

// gcPercent returns the GOGC at which the heap grows to the budget, 35 to 400.
func gcPercent(live, budget uint64) int {
	if live == 0 {
		return 400
	}
	return int(min(max(budget/(live/100+1), 135), 500)) - 100
}

// tuneGC adapts GOGC to the live data until stop is called. It does nothing if the user has set
// GOGC or GOMEMLIMIT, or if there is no budget.
func tuneGC() (stop func()) {
	budget, err := strconv.ParseUint(os.Getenv(budgetVar), 10, 64)
	if err != nil || os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
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
			if now := gcPercent(live[0].Value.Uint64(), budget); now > before+10 || now < before-10 {
				debug.SetGCPercent(now)
				before = now
			}
			select {
			case <-tick.C:
			case <-done:
				debug.SetGCPercent(100)
				return
			}
		}
	})
	return func() { close(done); ended.Wait() }
}
