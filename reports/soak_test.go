package reports

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simctl/simctl/metrics"
)

func TestWriteSoak(t *testing.T) {
	s := &metrics.Soak{
		Schema: metrics.Schema, Command: "simctl soak --minutes 30 --report out", Version: "v1", WallS: 1800, Brokers: []string{"legacy", "shedding"},
		Words: []string{"drain_nodes", "heal", "kill_server"},
		Schedules: []metrics.SoakSchedule{
			{Seed: 1, Events: []metrics.SoakEvent{{AtS: 1, Word: "kill_server"}, {AtS: 9, Word: "drain_nodes"}}, VirtualS: 400, Digest: "abc", Reached: []string{"leaders elected"}},
			{Seed: 2, Problems: []string{"a <lost> write"}, File: "seed-2.hcl", Needed: 1},
		},
	}
	dir := t.TempDir()
	names, err := WriteSoak(dir, s)
	if err != nil || len(names) != 2 {
		t.Fatalf("%v, %v", names, err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.html"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1 of 2 schedules of random faults failed", "seed 2: a &lt;lost&gt; write (1 event in a file that still fails: seed-2.hcl)", "leaders elected",
		"kill_server, then drain_nodes: 1 schedule", "1 of 9 pairs", "simctl soak --minutes 30 --report out", "abc", "<td>1 of 3</td>",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}
