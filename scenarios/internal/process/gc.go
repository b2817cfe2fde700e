package process

import (
	"encoding/json"
	"os"
	"runtime"

	"github.com/simctl/simctl/scenarios/internal/garbage"
)

// A run holds the state of every server. At Go's default, which keeps as much garbage as there
// is live data, collecting takes a quarter of its CPU time. So a child process lets its heap fill its
// share of heapBudget, however little of that is live data. Once the live data is more than half of the
// share, it keeps as much garbage as data, up to heapMost in all. When the live data is close to heapMost,
// each further byte of it allows four further bytes of garbage, up to heapLarge in all. Beyond that there
// is 35% of garbage. A child that is told to have more data than heapMost may fill as much from the start.

const (
	// heapBudget is for all children together: two of the default size stay below 1.5 GiB.
	heapBudget = 1024 << 20
	// heapMost is for one child: a million evaluations stay below 2.5 GB.
	heapMost = 1920 << 20
	// heapLarge is for one child, too: 100,000 nodes and 20 system jobs take 8 GB.
	heapLarge = 3 * heapMost
)

// Heaps returns the heap of each child if RunAll runs them, and how many of them go on at a time.
func Heaps(children []Child) (heaps []garbage.Heap, side int) {
	side = min(max(2, runtime.NumCPU()), max(1, len(children)))
	for i, share := range heapShares(children, side) {
		if data := children[i].Data; data > heapMost {
			share = min(data, heapLarge)
		}
		heaps = append(heaps, garbage.Heap{Share: share, Most: heapMost, Large: heapLarge}.Under(children[i].Memory))
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

// bounds are a child's, which its environment has as JSON.
type bounds struct {
	Heap       garbage.Heap
	Processors int // that may collect garbage
}

const heapVar = "SIMCTL_HEAP"

// ReserveHeap prepares the heap of a process for a command that reads scenarios or draws charts. It does nothing if the
// user has set GOGC, and for a child, whose heap is tuned when its run starts.
func ReserveHeap() {
	if os.Getenv(heapVar) == "" && os.Getenv("GOGC") == "" {
		garbage.Reserve(64 << 20)
	}
}

// tuneGC keeps the garbage within what the parent said until stop is called. It does nothing if the user
// has set GOGC or GOMEMLIMIT, or if there is no parent.
func tuneGC() (stop func()) {
	var b bounds
	if err := json.Unmarshal([]byte(os.Getenv(heapVar)), &b); err != nil || os.Getenv("GOGC") != "" || os.Getenv("GOMEMLIMIT") != "" {
		return func() {}
	}
	return garbage.Tune(b.Heap, b.Processors)
}
