//go:build !race

// The race detector would make these runs take minutes, and finds no more in them than
// in the small ones.

package scenarios

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/simctl/simctl/metrics"
)

// measuredRun is one run of real Nomad in testdata/calibration/nomad-measured.json.
type measuredRun struct {
	Version string `json:"nomad_version"`
	Nodes   int    `json:"nodes"`
	Phases  map[string]struct {
		ByKind map[string]uint64 `json:"byKind"`
	} `json:"phases"`
}

// entries sums the run's entries of a phase by Nomad's type, without Raft's own.
func (r measuredRun) entries(phase string) map[string]uint64 {
	types := map[string]string{
		"NodeRegister": metrics.EntryNodeRegister, "NodeUpdateStatus": metrics.EntryNodeUpdateStatus,
		"EvalUpdate": metrics.EntryEvalUpdate, "ApplyPlanResults": metrics.EntryApplyPlanResults,
	}
	sum := map[string]uint64{}
	for kind, n := range r.Phases[phase].ByKind {
		kind, _, _ = strings.Cut(kind, ":")
		if t := types[kind]; t != "" {
			sum[t] += n
		}
	}
	return sum
}

// TestLoopbackMatchesRealNomad: with the costs of the machine real Nomad was measured on,
// the simulation writes the entries real Nomad wrote: the same to within ten of each
// type while clients register and the backlog drains, and within 15% in all in a storm.
func TestLoopbackMatchesRealNomad(t *testing.T) {
	data, err := os.ReadFile("../testdata/calibration/nomad-measured.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Runs []measuredRun `json:"runs"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	brokers := map[string]string{"1.4.2": "legacy", "1.4.3": "shedding"}
	var specs []Spec
	for _, run := range file.Runs {
		specs = append(specs, Spec{
			Scenario: "heartbeat-storm", Broker: brokers[run.Version], Seed: 1, Clock: ClockVirtual, Cost: "loopback",
			Vars: map[string]any{"nodes": run.Nodes},
		})
	}
	results, err := RunAll(t.Context(), specs, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, run := range file.Runs {
		for _, phase := range []string{"register", "drain"} {
			got := results[i].Phase(phase).RaftEntriesByType
			for kind, want := range run.entries(phase) {
				if math.Abs(float64(got[kind])-float64(want)) > 10 {
					t.Errorf("%s, %d nodes, %s: %d entries of %s, real Nomad wrote %d", run.Version, run.Nodes, phase, got[kind], kind, want)
				}
			}
		}
		want := uint64(0)
		for _, n := range run.entries("storm") {
			want += n
		}
		got := results[i].Phase("storm").RaftEntries
		off := float64(got)/float64(want) - 1
		t.Logf("%s, %d nodes, storm: %d entries, real Nomad wrote %d: %+.1f%%", run.Version, run.Nodes, got, want, 100*off)
		if math.Abs(off) > 0.15 {
			t.Errorf("%s, %d nodes, storm: %d entries are %+.1f%% from the %d that real Nomad wrote", run.Version, run.Nodes, got, 100*off, want)
		}
	}
}
