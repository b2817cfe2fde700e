package nomad

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/sweep"
)

// TestMain lets the test binary be the child that a cell runs in.
func TestMain(m *testing.M) {
	scenarios.ServeIfChild()
	goleak.VerifyTestMain(m)
}

func base() scenarios.Spec { return scenarios.Spec{Scenario: "heartbeat-storm", Seed: 1} }

// study returns a study of the heartbeat storm over some axes.
func study(t testing.TB, axes ...string) *sweep.Study {
	t.Helper()
	st := &sweep.Study{Base: base(), Seeds: []int64{1}}
	if err := st.Parse(axes); err != nil {
		t.Fatal(err)
	}
	return st
}

// nodesOf returns the number of nodes of a run.
func nodesOf(spec scenarios.Spec) int {
	n, _ := strconv.Atoi(fmt.Sprint(spec.Vars["nodes"]))
	return n
}

// result is what the stand-in says of a run.
func result(spec scenarios.Spec) *metrics.Result {
	phases := []metrics.Phase{{Name: "storm", EndS: 1, RecoveryS: 1, QueueEmptyS: 1, EvalsProcessed: 1, RaftEntries: uint64(nodesOf(spec))}}
	return &metrics.Result{
		Schema: metrics.Schema,
		Run: metrics.Run{Scenario: spec.Scenario, Broker: spec.Broker, Seed: spec.Seed, Clock: "virtual", Target: "simulated",
			Params: map[string]any{"nodes": nodesOf(spec)}, Version: "v1"},
		Phases: phases, Totals: metrics.Totals(phases),
	}
}

// watcher records the retries that it is told.
type watcher struct {
	mu      sync.Mutex
	retried []string
}

func (*watcher) Expect([]sweep.Run, int, []metrics.SweepRun) {}
func (*watcher) Started(sweep.Run, string)                   {}
func (*watcher) Progress(sweep.Run, scenarios.Progress)      {}
func (*watcher) Ended(sweep.Run, string, metrics.SweepRun)   {}
func (w *watcher) Retried(_ sweep.Run, label string, why error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.retried = append(w.retried, fmt.Sprintf("%s: %v", label, why))
}

// perform runs a study in a directory and returns what it was told of retries.
func perform(t *testing.T, ctx context.Context, st *sweep.Study, ex sweep.Executor, dir string) (*metrics.Sweep, []string, error) {
	t.Helper()
	j, err := sweep.OpenJournal(dir)
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{}
	s, err := st.Do(ctx, ex, j, w)
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	return s, w.retried, err
}
