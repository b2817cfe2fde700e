package reports

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/simctl/simctl/metrics"
)

// judged is two runs, the second with failures in n phases.
func judged(n int) []*metrics.Result {
	legacy := &metrics.Result{Run: metrics.Run{Scenario: "s|x", Broker: "legacy"}, Invariants: []metrics.Invariant{{Name: "sound", OK: true, Detail: "it is"}}}
	shedding := &metrics.Result{Run: metrics.Run{Scenario: "s|x", Broker: "shedding"}, Invariants: []metrics.Invariant{{Name: "sound", Detail: "50% <lost>, twice: here\nand there"}}}
	legacy.Thresholds = []metrics.Verdict{{Run: "legacy", Metric: "totals.raft_entries", Demand: "<= 5", Value: 4, OK: true}}
	for i := range n {
		for _, metric := range []string{"raft_entries", "recovery_s"} {
			shedding.Thresholds = append(shedding.Thresholds, metrics.Verdict{
				Name: "few", Run: "shedding", Metric: fmt.Sprintf("phases.p%d.%s", i, metric), Demand: "<= 5", Value: -1,
			})
		}
	}
	return []*metrics.Result{legacy, shedding}
}

func TestCheckLines(t *testing.T) {
	var b bytes.Buffer
	if err := CheckLines(&b, judged(1), false); err != nil {
		t.Fatal(err)
	}
	want := `✗ shedding: sound: 50% <lost>, twice: here
and there
✗ shedding: few (phases.p0.raft_entries): -1 entries, want <= 5
✗ shedding: few (phases.p0.recovery_s): never, want <= 5
✓ legacy: 1 of 1 invariant and 1 of 1 figure are as they should be
✗ shedding: 0 of 1 invariant and 0 of 2 figures are as they should be
`
	if b.String() != want {
		t.Errorf("lines\n%swant\n%s", b.String(), want)
	}
	b.Reset()
	bare := judged(1)[:1]
	bare[0].Thresholds = nil
	if err := CheckLines(&b, bare, false); err != nil || b.String() != "✓ legacy: 1 of 1 invariant are as they should be\n" {
		t.Errorf("of a run without thresholds (%v)\n%s", err, b.String())
	}
	b.Reset()
	if err := CheckLines(&b, judged(1), true); err != nil || !strings.Contains(b.String(), "✓ legacy: totals.raft_entries: 4 entries, want <= 5\n") {
		t.Errorf("all lines (%v)\n%s", err, b.String())
	}
}

func TestChecksJSON(t *testing.T) {
	var b bytes.Buffer
	if err := ChecksJSON(&b, judged(1)); err != nil {
		t.Fatal(err)
	}
	var got struct {
		OK       bool
		Scenario string
		Failed   int
		Checks   []Check
	}
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if got.OK || got.Scenario != "s|x" || got.Failed != 3 || len(got.Checks) != 5 {
		t.Errorf("the document is %+v", got)
	}
	for i, want := range Checks(judged(1)) {
		if c := got.Checks[i]; c.Run != want.Run || c.OK != want.OK || c.Detail != want.Detail || c.Threshold != (c.Value != nil) {
			t.Errorf("check %d is %+v, want %+v", i, c, want)
		}
	}
	if err := ChecksJSON(&b, nil); !errors.Is(err, ErrNoRuns) {
		t.Errorf("without runs: %v", err)
	}
}

// TestCheckDetails: a check says the figure with its unit and, if it failed, by how much it
// differs from the baseline's.
func TestCheckDetails(t *testing.T) {
	verdict := func(metric string, value, baseline float64, ok bool) metrics.Verdict {
		return metrics.Verdict{Run: "legacy", Metric: metric, Demand: "what was", Value: value, Baseline: &baseline, OK: ok}
	}
	for _, c := range []struct {
		verdict metrics.Verdict
		want    string
	}{
		{verdict("phases.p.raft_entries", 61, 50, false), "61 entries, want what was: 22% more"},
		{verdict("phases.p.raft_entries", 25, 50, false), "25 entries, want what was: 50% less"},
		{verdict("phases.p.raft_entries", 1, 50, true), "1 entry, want what was"},
		{verdict("phases.p.nodes_down", 1, 0, false), "1 node, want what was"},
		{verdict("phases.p.recovery_s", 150.761659, 100, false), "150.762 s (2:31), want what was: 50.8% more"},
		{verdict("phases.p.recovery_s", 0.25, -1, false), "0.25 s, want what was"},
		{verdict("phases.p.recovery_s", -1, 10, false), "never, want what was"},
		{verdict("latencies.nomad.broker.wait_time.p99", 0.6780001, 0.5, false), "0.678 s, want what was: 35.6% more"},
		{verdict("fan_in.p50", 3, 2, false), "3, want what was: 50% more"},
	} {
		r := &metrics.Result{Run: metrics.Run{Scenario: "s", Broker: "legacy"}, Thresholds: []metrics.Verdict{c.verdict}}
		if got := Checks([]*metrics.Result{r})[0].Detail; got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

// TestDemandsHaveFewDecimals, as that to be at most a share of another run's time.
func TestDemandsHaveFewDecimals(t *testing.T) {
	for demand, want := range map[string]string{
		"<= 0.5 × 150.761659 of legacy": "3.25 s, want <= 0.5 × 150.762 of legacy",
		"<= 0.125":                      "3.25 s, want <= 0.125",
		"<= 1e+20":                      "3.25 s, want <= 1e+20",
	} {
		r := &metrics.Result{Run: metrics.Run{Scenario: "s", Broker: "b"}, Thresholds: []metrics.Verdict{{Run: "b", Metric: "phases.p.recovery_s", Demand: demand, Value: 3.25, OK: true}}}
		if got := Checks([]*metrics.Result{r})[0].Detail; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestJUnit(t *testing.T) {
	var b bytes.Buffer
	if err := JUnit(&b, judged(2)); err != nil {
		t.Fatal(err)
	}
	var doc junitSuites
	if err := xml.Unmarshal(b.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	if len(doc.Suites) != 2 || doc.Suites[0].Failures != 0 || doc.Suites[0].Tests != 2 || doc.Suites[1].Failures != 5 || doc.Suites[1].Tests != 5 {
		t.Errorf("document %+v", doc)
	}
	if f := doc.Suites[1].Cases[0].Failure; f == nil || !strings.Contains(f.Message, "50% <lost>") {
		t.Errorf("failure %+v", f)
	}
	names := map[string]bool{}
	same := judged(1)[1:]
	same[0].Thresholds = append(same[0].Thresholds, same[0].Thresholds...)
	same[0].Thresholds[3].Demand = ">= 1"
	b.Reset()
	if err := JUnit(&b, same); err != nil || xml.Unmarshal(b.Bytes(), &doc) != nil {
		t.Fatal(err)
	}
	for _, c := range doc.Suites[len(doc.Suites)-1].Cases {
		if names[c.Name] {
			t.Errorf("two cases are called %q", c.Name)
		}
		names[c.Name] = true
	}
	if JUnit(&b, nil) == nil {
		t.Error("no runs make a document")
	}
}

func TestAnnotationsAreFewAndOnOneLineEach(t *testing.T) {
	for _, c := range []struct{ phases, lines int }{{0, 1}, {3, 4}, {9, 10}, {40, 10}} {
		var b bytes.Buffer
		if err := GitHubAnnotations(&b, judged(c.phases)); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
		if len(lines) != c.lines {
			t.Errorf("%d phases failed: %d annotations, want %d:\n%s", c.phases, len(lines), c.lines, b.String())
		}
		for _, line := range lines {
			if !strings.HasPrefix(line, "::error title=") || strings.Count(line, "::") != 2 {
				t.Errorf("not one workflow command: %q", line)
			}
		}
		if want := "::error title=s|x%2C shedding%3A invariants::sound: 50%25 <lost>, twice: here%0Aand there"; lines[0] != want {
			t.Errorf("the first is %q, want %q", lines[0], want)
		}
	}
	var b bytes.Buffer
	if err := GitHubAnnotations(&b, judged(40)); err != nil || !strings.Contains(b.String(), "title=32 more groups of failed checks::") {
		t.Errorf("%s (%v): want the rest counted", b.String(), err)
	}
}

func TestStepSummary(t *testing.T) {
	var b bytes.Buffer
	if err := StepSummary(&b, judged(1)); err != nil {
		t.Fatal(err)
	}
	want := `### s\|x

Held: 2 of 5 checks.

| | run | check | |
|---|---|---|---|
| ✗ | shedding | sound | 50% &lt;lost>, twice: here and there |
| ✗ | shedding | few (phases.p0.raft_entries) | -1 entries, want &lt;= 5 |
| ✗ | shedding | few (phases.p0.recovery_s) | never, want &lt;= 5 |
| ✓ | legacy | totals.raft_entries | 4 entries, want &lt;= 5 |
`
	if b.String() != want {
		t.Errorf("summary\n%swant\n%s", b.String(), want)
	}
}
