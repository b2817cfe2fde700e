package scenarios

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/simctl/simctl/scenarios/internal/judge"
	"github.com/simctl/simctl/scenarios/language"
)

// TestExamples: every file of examples is formatted, explains itself, is listed, and runs at a
// small size.
func TestExamples(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../examples/*.hcl")
	must(t, err)
	if len(files) == 0 {
		t.Fatal("there are no examples")
	}
	readme, err := os.ReadFile("../examples/README.md")
	must(t, err)
	for _, file := range files {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(file)
			must(t, err)
			formatted, err := language.Format(name, text)
			if err != nil || string(formatted) != string(text) {
				t.Errorf("it is not formatted (%v): run simctl scenario fmt examples/*.hcl", err)
			}
			if about, _, _ := strings.Cut(string(text), "\ntitle ="); !strings.HasPrefix(about, "# ") || !strings.Contains(about, "# Look at ") {
				t.Error("it does not begin with a comment that says what to look at")
			}
			if slices.Contains(Names(), strings.TrimSuffix(name, ".hcl")) {
				t.Error("the catalogue has one of this name")
			}
			if n := strings.Count(string(readme), "]("+name+")"); n != 1 {
				t.Errorf("examples/README.md lists it %d times, want once", n)
			}
			spec, err := FromFile(file)
			must(t, err)
			spec.Broker, spec.Seed = "shedding", 1
			spec.Set("nodes", 20)
			if name == "submit-burst.hcl" {
				spec.Set("batch_jobs", 50)
			}
			res := elsewhere(t, spec)
			wantSound(t, res, judge.InvariantNonePending, judge.InvariantServersSame)
			wantThresholds(t, spec, res)
			if len(res.Warnings) > 0 {
				t.Errorf("it warns: %q", res.Warnings)
			}
		})
	}
}
