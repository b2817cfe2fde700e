package reports

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/simctl/simctl/metrics"
)

func TestAccountShowsWhatIsExplainedAndWhatIsNot(t *testing.T) {
	run := &metrics.Result{
		Run: metrics.Run{Scenario: "heartbeat-storm", Broker: "legacy", Seed: 7},
		Phases: []metrics.Phase{
			{
				Name: "storm", RaftEntries: 6010,
				RaftEntriesByType:         map[string]uint64{"EvalUpdateRequestType": 6000, "raft:Noop": 1, "NodeUpdateStatusRequestType": 9},
				RaftEntriesExpectedByType: map[string]uint64{"EvalUpdateRequestType": 6000, "NodeUpdateStatusRequestType": 10},
				RaftAccount: []metrics.Expectation{
					{Type: "EvalUpdateRequestType", Event: "evaluations processed", Entries: 6005},
					{Type: "EvalUpdateRequestType", Event: "of these blocked again", Entries: -5},
					{Type: "NodeUpdateStatusRequestType", Event: "nodes lost", Entries: 10},
				},
			},
			{
				Name: "calm", RaftEntries: 1, RaftEntriesByType: map[string]uint64{"A": 1},
				RaftEntriesExpectedByType: map[string]uint64{"A": 1}, RaftAccount: []metrics.Expectation{{Type: "A", Event: "a", Entries: 1}},
			},
			{Name: "old", RaftEntries: 12},
		},
	}
	var out bytes.Buffer
	if err := writeAccount(&out, []*metrics.Result{run}); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{
		"heartbeat-storm, legacy broker, seed 7",
		"EvalUpdateRequestType 6,000 6,000 evaluations processed 6,005 of these blocked again -5",
		"NodeUpdateStatusRequestType 10 9 nodes lost 10",
		"not explained: -1 NodeUpdateStatusRequestType not explained: +1 raft:Noop",
		"calm expected written A 1 1 a 1 every entry is explained",
		"nobody worked out what to expect) - 12",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the account lacks %q:\n%s", want, out.String())
		}
	}
	if err := WriteTo(&out, "account", nil, TableOptions{}); !errors.Is(err, ErrNoRuns) {
		t.Errorf("of no runs: %v", err)
	}
}
