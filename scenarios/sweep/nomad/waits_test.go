package nomad

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/scenarios"
)

func TestNomadSaysWhyCellsWait(t *testing.T) {
	var mu sync.Mutex
	var said []string
	cfg := quick
	cfg.Waits = func(why string) {
		mu.Lock()
		defer mu.Unlock()
		said = append(said, why)
	}
	s := newStandIn(t, always(waitsFirst))
	if _, _, err := perform(t, t.Context(), study(t, "nodes=10,20,30", "broker=legacy"), executor(t, s, cfg), t.TempDir()); err != nil {
		t.Fatal(err)
	}
	want := []string{"nodes are ruled out by ${attr.cpu.arch} = amd64, nodes have no cpu left, nodes have no memory left"}
	if !slices.Equal(said, want) {
		t.Errorf("it says %q, want %q, once for all cells", said, want)
	}
	for want, metric := range map[string]*api.AllocationMetric{
		`no node of datacenter "*" is ready`: {NodesAvailable: map[string]int{"*": 0}},
		"no node can take it":                {},
	} {
		if got := whyUnplaced(metric); got != want {
			t.Errorf("%+v is worded as %q, want %q", metric, got, want)
		}
	}
}

// TestFilesGoAlong: a cell needs neither the scenario's file nor that of the costs, nor what
// they name.
func TestFilesGoAlong(t *testing.T) {
	text, err := os.ReadFile("../../calibration/loopback.hcl")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "mine.hcl")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	st := study(t, "nodes=10", "broker=legacy")
	st.Base.Cost = path
	runs, _, err := st.Plan()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	s := newStandIn(t, always(works))
	if _, err := executor(t, s, quick).Run(t.Context(), runs[0].Spec, "key", 1, nil); err != nil {
		t.Fatal(err)
	}
	for _, job := range s.jobs {
		run, err := scenarios.Compile(job.spec)
		if err != nil || run.Machines().Class != "loopback" {
			t.Errorf("the cell that was dispatched has costs %v (%v)", run.Machines(), err)
		}
	}
}
