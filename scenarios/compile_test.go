package scenarios

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/simctl/simctl/scenarios/language"
)

// countTexts counts how often each text is parsed until the test ends.
func countTexts(t *testing.T) map[string]int {
	count := map[string]int{}
	var mu sync.Mutex
	counted := func(open func(string, []byte) (*language.File, error)) func(string, []byte) (*language.File, error) {
		return func(name string, src []byte) (*language.File, error) {
			mu.Lock()
			defer mu.Unlock()
			count[name]++
			return open(name, src)
		}
	}
	openText, openOwn = counted(language.Open), counted(language.OpenOwn)
	opened.Clear()
	t.Cleanup(func() { openText, openOwn = language.Open, language.OpenOwn })
	return count
}

// TestNoTextIsParsedTwice: whatever is asked of a run, under several brokers, of a file and of
// a built-in scenario, whose flags come from it as well.
func TestNoTextIsParsedTwice(t *testing.T) {
	count := countTexts(t)
	text, _ := Text("heartbeat-storm")
	for _, spec := range []Spec{fileSpec(t, string(text)), small("legacy")} {
		if spec.Source == "" {
			if _, err := spec.Variables(); err != nil || Describe(spec.Scenario) == "" {
				t.Fatalf("%s says nothing of itself: %v", spec.Scenario, err)
			}
		}
		c, err := Compile(spec)
		must(t, err)
		var names []string
		for _, broker := range c.Brokers() {
			under, err := c.Under(broker)
			must(t, err)
			if got := under.Spec().Broker; got != broker || under.scenario.Run.Broker != broker || under.scenario.Cluster.Policy.String() != broker {
				t.Errorf("under %s the Spec has %s, the run %+v", broker, got, under.scenario.Run)
			}
			names = append(names, broker)
			if !strings.Contains(under.scenario.Run.Rerun, "--broker "+broker) || len(under.Thresholds()) > 0 && under.Summary() == "" {
				t.Errorf("%s is repeated by %q", broker, under.scenario.Run.Rerun)
			}
		}
		if want := []string{"legacy", "shedding"}; !slices.Equal(names, want) || !slices.Equal(c.PhaseNames(), []string{"register", "drain", "storm"}) {
			t.Errorf("brokers %q and phases %q", names, c.PhaseNames())
		}
	}
	for name, n := range count {
		if n != 1 {
			t.Errorf("%s was parsed %d times", name, n)
		}
	}
	if len(count) != 2 {
		t.Errorf("parsed %v, want the file and the built-in scenario", count)
	}
}

// TestACompiledSpecDoesNotChange: one that runs under another broker leaves the first alone.
func TestACompiledSpecDoesNotChange(t *testing.T) {
	c, err := Compile(small("legacy"))
	must(t, err)
	before := jsonOf(t, c.scenario.Run)
	if _, err := c.Under("shedding"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Under("fast"); err == nil || !strings.Contains(err.Error(), `--broker "fast": it must be`) {
		t.Errorf("an unknown broker: %v", err)
	}
	if after := jsonOf(t, c.scenario.Run); after != before || c.scenario.Cluster.Policy.String() != "legacy" {
		t.Errorf("it became %s, from %s", after, before)
	}
}
