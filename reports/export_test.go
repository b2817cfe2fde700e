package reports

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/simctl/simctl/metrics"
)

// TestCSVNamesAreMetrics looks every line of the CSV up as a threshold would.
func TestCSVNamesAreMetrics(t *testing.T) {
	runs := published(t)
	var out bytes.Buffer
	if err := writeCSV(&out, runs); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	byRun := map[string]*metrics.Result{"legacy": runs[0], "shedding": runs[1]}
	for _, row := range rows[1:] {
		want, _, err := byRun[row[0]].Lookup(row[4])
		if err != nil {
			t.Error(err)
			continue
		}
		if got, err := strconv.ParseFloat(row[6], 64); err != nil || got != want {
			t.Errorf("%s of %s is %s, want %g", row[4], row[0], row[6], want)
		}
	}
}

func TestJSON(t *testing.T) {
	runs := published(t)
	for n, want := range map[int][2]bool{1: {false, false}, 2: {true, false}, 3: {false, true}} {
		var out bytes.Buffer
		if err := writeJSON(&out, append(runs, runs[1])[:n]); err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Runs []struct {
				Run    metrics.Run
				Series []any
			}
			Comparison  *metrics.Comparison
			Comparisons []metrics.Comparison
		}
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		if len(doc.Runs) != n || doc.Runs[0].Run.Broker != "legacy" || doc.Runs[0].Series != nil {
			t.Errorf("%d runs: %d in the document, the first %+v", n, len(doc.Runs), doc.Runs[0].Run)
		}
		if got := [2]bool{doc.Comparison != nil, doc.Comparisons != nil}; got != want {
			t.Errorf("%d runs: comparison and comparisons there %v, want %v", n, got, want)
		}
	}
	if runs[0].Series == nil {
		t.Error("the caller's result lost its series")
	}
}

// TestPrometheusGrammar checks each line against what OpenMetrics allows, and the order
// that it asks for.
func TestPrometheusGrammar(t *testing.T) {
	runs := published(t)
	runs[0].Invariants[0].Name = "quotes \" and \\ and\nline breaks"
	// An invariant can be checked after several phases.
	runs[0].Invariants = append(runs[0].Invariants, metrics.Invariant{Name: "again", OK: true}, metrics.Invariant{Name: "again"})
	var out bytes.Buffer
	if err := writePrometheus(&out, runs); err != nil {
		t.Fatal(err)
	}
	text := strings.TrimSuffix(out.String(), "\n")
	lines := strings.Split(text, "\n")
	if lines[len(lines)-1] != "# EOF" {
		t.Fatalf("the last line is %q", lines[len(lines)-1])
	}
	sample := regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)\{([a-z_]+="(\\[\\n"]|[^\\"\n])*",?)+\} (-?[0-9.e+-]+) ([0-9]+\.[0-9]{6})$`)
	seen, family := map[string]bool{}, ""
	last, lastKey := "", ""
	for _, line := range lines[:len(lines)-1] {
		if name, ok := strings.CutPrefix(line, "# TYPE "); ok {
			family, _, _ = strings.Cut(name, " ")
			if seen[family] {
				t.Errorf("family %s comes twice", family)
			}
			seen[family] = true
			continue
		}
		if strings.HasPrefix(line, "# HELP "+family+" ") {
			continue
		}
		m := sample.FindStringSubmatch(line)
		if m == nil || !strings.HasPrefix(m[1], family) {
			t.Fatalf("not a sample of %s: %s", family, line)
		}
		key := line[:strings.LastIndex(line, "} ")]
		if key == lastKey && m[5] <= last {
			t.Fatalf("time does not go on: %s", line)
		}
		last, lastKey = m[5], key
	}
	if !regexp.MustCompile(`(?m)^simctl_invariant_ok\{.*invariant="again"\} 0 `).MatchString(text) {
		t.Error("an invariant that failed once is not said to have failed")
	}
	if !seen["nomad_nomad_broker_total_pending"] || !seen["nomad_broker_wait_time_seconds"] || !seen["simctl_phase_recovery_seconds"] {
		t.Errorf("families are missing: %v", seen)
	}
}
