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
	"github.com/simctl/simctl/scenarios/forecast"
)

// Local runs cells as processes of this machine, as many at a time as its processors and its
// memory allow. Its methods may be called from any goroutine.
type Local struct {
	// MaxMemory is how much memory the process of a run may take before it is ended. Zero is no
	// limit. It is set before the first run.
	MaxMemory int64

	side   int
	memory int64 // bytes for all of them together
	free   *semaphore.Weighted

	mu sync.Mutex
	// worst is the largest memory of a run, as a multiple of its estimate.
	worst float64
}

// NewLocal returns an executor for this machine that runs side cells at a time in memory
// bytes. Zero stands for one cell per processor, and for four fifths of the free memory.
func NewLocal(side int, memory int64) *Local {
	if side == 0 {
		side = runtime.NumCPU()
	}
	if memory == 0 {
		memory = forecast.FreeMemory() / 5 * 4
	}
	return &Local{side: side, memory: memory, free: semaphore.NewWeighted(memory)}
}

// Side implements Executor.
func (l *Local) Side() int { return l.side }

// Memory returns the bytes that all runs together may take.
func (l *Local) Memory() int64 { return l.memory }

// Build implements Executor.
func (l *Local) Build() string { return thisBuild() }

// thisBuild identifies the program: by its version if it is released, else by the hash of its
// file, since a version says nothing while somebody works on it.
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
func (l *Local) Fits(spec scenarios.Spec) bool { return forecast.Of(spec).Memory <= float64(l.memory) }

// Run implements Executor. It waits for memory. A run that needs more than there is runs
// alone.
func (l *Local) Run(ctx context.Context, spec scenarios.Spec, _ string, _ int, tell func(scenarios.Progress)) (*metrics.Result, error) {
	estimate := forecast.Of(spec)
	share := l.grant(estimate)
	if err := l.free.Acquire(ctx, share); err != nil {
		return nil, fmt.Errorf("wait for memory: %w", err)
	}
	defer l.free.Release(share)
	// Garbage may fill the share. The collector cannot know what the process needs beside its
	// heap.
	res, err := scenarios.RunChild(ctx, spec, scenarios.Limits{Memory: l.MaxMemory}, int(float64(share)*0.8), tell)
	if err == nil && res.Stopped != "" {
		return nil, &LimitError{res.Stopped}
	}
	if res != nil {
		l.mu.Lock()
		l.worst = math.Max(l.worst, float64(res.Host.PeakRSSBytes)/estimate.Memory)
		l.mu.Unlock()
	}
	return res, err
}

// grant returns the bytes that a run is given: an equal part of the memory, within what the
// run needs and what it can use. Once a run has taken more than its estimate, later ones are
// given more.
func (l *Local) grant(estimate forecast.Cost) int64 {
	l.mu.Lock()
	estimate.Memory *= math.Max(1, l.worst/forecast.Roomy)
	l.mu.Unlock()
	equal := float64(l.memory) / float64(l.side)
	return int64(math.Min(estimate.Peak(equal), float64(l.memory)))
}
