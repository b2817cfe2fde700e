package scenarios

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the table of digests from what the runs do now")

const digestFile = "../testdata/digests.txt"

const digestHeader = `# Digests of every built-in scenario with 40 nodes and seed 1 (incident: 3000 evaluations), less the
# versions of program and compiler. A change of behaviour changes them: say in its commit why.
`

// TestDigests holds the behaviour of the whole catalogue, under both brokers, to a table.
func TestDigests(t *testing.T) {
	var specs []Spec
	for _, name := range Names() {
		for _, broker := range []string{"legacy", "shedding"} {
			spec := Spec{Scenario: name, Broker: broker, Seed: 1}
			spec.Set("nodes", 40)
			if name == "incident" {
				spec.Set("evaluations", 3_000)
			}
			spec.IndependentReplicas = len(specs)%3 == 0 // which is no matter of behaviour
			specs = append(specs, spec)
		}
	}
	results, err := RunAll(t.Context(), specs, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	got.WriteString(digestHeader)
	for i, res := range results {
		res.Run.Version, res.Run.GoVersion = "", ""
		fmt.Fprintf(&got, "%-26s %-9s %.16s\n", specs[i].Scenario, specs[i].Broker, res.Digest())
	}
	if *rewrite {
		must(t, os.WriteFile(digestFile, []byte(got.String()), 0o644))
	}
	want, err := os.ReadFile(digestFile)
	must(t, err)
	wanted := map[string]bool{}
	for line := range strings.Lines(string(want)) {
		wanted[line] = true
	}
	for line := range strings.Lines(got.String()) {
		if !wanted[line] {
			t.Errorf("not in %s: %s", digestFile, line)
		}
	}
}
