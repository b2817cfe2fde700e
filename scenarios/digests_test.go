package scenarios

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/simctl/simctl/metrics"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the table of digests from what the runs do now")

const digestFile = "../testdata/digests.txt"

const digestHeader = `# Digests of every built-in scenario with 20 nodes and seed 1, shortened as scenarios/digests_test.go
# says, less the versions of program and compiler. A change of behaviour changes them: say in its
# commit why.
`

// catalogueRuns returns the Results of the whole catalogue, small, under both brokers. Several tests look
// at them, and must not change them.
var catalogueRuns = sync.OnceValues(func() ([]*metrics.Result, error) {
	var specs []Spec
	for _, name := range Names() {
		for _, broker := range []string{"legacy", "shedding"} {
			spec := catalogued(name, broker)
			spec.IndependentReplicas = len(specs)%3 == 0 // which is no matter of behaviour
			specs = append(specs, spec)
		}
	}
	return RunAll(context.Background(), specs, nil)
})

// shorter are the settings by which runs take less and still show what they are for.
var shorter = map[string]map[string]any{
	"alloc-failures":  {"service_jobs": 8},
	"alloc-updates":   {"times": 2},
	"dispatch":        {"dispatches": 200},
	"identity-expiry": {"identity_minutes": 31, "outage_minutes": 33},
	"incident":        {"evaluations": 700},
	"poison":          {"minutes": 10},
	"steady-state":    {"minutes": 10},
	"submit-ramp":     {"p99_s": 0.1},
}

// catalogued is a scenario of the catalogue with 20 clients.
func catalogued(name, broker string) Spec {
	spec := Spec{Scenario: name, Broker: broker, Seed: 1}
	spec.Set("nodes", 20)
	for variable, value := range shorter[name] {
		spec.Set(variable, value)
	}
	return spec
}

// TestDigests holds the behaviour of the whole catalogue, under both brokers, to a table.
func TestDigests(t *testing.T) {
	t.Parallel()
	results, err := catalogueRuns()
	must(t, err)
	var got strings.Builder
	got.WriteString(digestHeader)
	for _, res := range results {
		res := *res
		res.Run.Version, res.Run.GoVersion = "", ""
		fmt.Fprintf(&got, "%-26s %-9s %.16s\n", res.Run.Scenario, res.Run.Broker, res.Digest())
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
