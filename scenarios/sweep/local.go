package sweep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"

	"golang.org/x/sync/semaphore"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios"
)

// Local runs cells as processes of this machine, as many at a time as it has processors
// and memory for.
type Local struct {
	side   int
	memory int64 // bytes for all of them together
	free   *semaphore.Weighted

	mu sync.Mutex
	// worst is how many times what it was estimated to need a run took at most.
	worst float64
}

// NewLocal returns an executor for this machine: side runs at a time, zero meaning one for
// each processor, in so many bytes of memory, zero meaning four fifths of what is free now.
func NewLocal(side int, memory int64) *Local {
	if side == 0 {
		side = runtime.NumCPU()
	}
	if memory == 0 {
		memory = freeMemory() / 5 * 4
	}
	return &Local{side: side, memory: memory, free: semaphore.NewWeighted(memory)}
}

// Side implements Executor.
func (l *Local) Side() int { return l.side }

// Memory returns the bytes that all runs together may take.
func (l *Local) Memory() int64 { return l.memory }

// Build implements Executor.
func (l *Local) Build() string { return thisBuild() }

// thisBuild is the version of a released program, and the hash of the file of any other:
// while somebody works on it, a version says nothing.
var thisBuild = sync.OnceValue(func() string {
	if info, ok := debug.ReadBuildInfo(); ok && strings.HasPrefix(info.Main.Version, "v") && !strings.Contains(info.Main.Version, "+") {
		return info.Main.Version
	}
	self, err := os.Executable()
	if err != nil {
		return "" // then no child can be started either
	}
	file, err := os.Open(self)
	if err != nil {
		return ""
	}
	defer file.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, file); err != nil {
		return ""
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
})

// Fits reports whether a run fits into the memory by itself.
func (l *Local) Fits(spec scenarios.Spec) bool { return Cost(spec).Memory <= float64(l.memory) }

// Run implements Executor: it waits until there is memory for the run and then runs it. A
// run that needs more than there is at all runs alone.
func (l *Local) Run(ctx context.Context, spec scenarios.Spec, _ string, _ int, tell func(scenarios.Progress)) (*metrics.Result, error) {
	estimate := Cost(spec)
	share := l.share(estimate)
	if err := l.free.Acquire(ctx, share); err != nil {
		return nil, fmt.Errorf("wait for memory: %w", err)
	}
	defer l.free.Release(share)
	// Garbage may fill what is left of the share; the collector cannot know how much the
	// process needs beside its heap.
	res, err := scenarios.RunChild(ctx, spec, int(float64(share)*0.8), tell)
	if res != nil {
		l.mu.Lock()
		l.worst = math.Max(l.worst, float64(res.Host.PeakRSSBytes)/estimate.Memory)
		l.mu.Unlock()
	}
	return res, err
}

// share returns how much memory a run is given: an equal part of it, if that is between
// what the run needs and what it can make use of. Runs that have turned out to take more
// than they were given make later ones be given more.
func (l *Local) share(estimate HostCost) int64 {
	l.mu.Lock()
	correct := math.Max(1, l.worst/roomy)
	l.mu.Unlock()
	need := estimate.Memory * correct
	equal := float64(l.memory) / float64(l.side)
	return int64(math.Min(math.Min(math.Max(need, equal), need*roomy), float64(l.memory)))
}
