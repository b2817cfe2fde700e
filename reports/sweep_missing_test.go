package reports

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/simctl/simctl/metrics"
)

// TestASweepSaysWhatIsMissing: in its title, on its page, and cell by cell.
func TestASweepSaysWhatIsMissing(t *testing.T) {
	s := synthSweep(t)
	s.Runs = slices.DeleteFunc(s.Runs, func(r metrics.SweepRun) bool { return r.Point[0] == "200" && r.Broker == "legacy" })
	for _, schedulers := range []string{"1", "2"} {
		s.Missing = append(s.Missing, metrics.MissingCell{Point: []string{"200", schedulers}, Broker: "legacy", Limit: "--max-time 10m0s"})
	}
	if got, want := SweepStopped(s), "stopped by --max-time 10m0s: 2 of 12 cells are missing"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, format := range []string{"summary", "markdown", "json"} {
		var out bytes.Buffer
		if err := Sweep(&out, format, s, TableOptions{}); err != nil {
			t.Fatal(err)
		}
		want := []string{"Stopped by --max-time 10m0s: 2 of 12 cells are missing. ", "Missing cells", "nodes=200 schedulers=1 legacy: --max-time 10m0s"}
		if format == "json" {
			want = []string{`"missing": [`}
		}
		for _, text := range want {
			if !strings.Contains(out.String(), text) {
				t.Errorf("%s lacks %q:\n%s", format, text, out.String())
			}
		}
	}
	dir := t.TempDir()
	if _, err := WriteSweep(dir, s); err != nil {
		t.Fatal(err)
	}
	if page, err := os.ReadFile(filepath.Join(dir, "report.html")); err != nil || !strings.Contains(string(page), "2 of 12 cells are missing") {
		t.Errorf("the page does not say it (%v)", err)
	}
	// A sweep of which nothing has run has a page, too.
	s.Runs, s.Axes[0].Values, s.Axes[1].Values = nil, nil, nil
	if _, err := WriteSweep(t.TempDir(), s); err != nil {
		t.Error(err)
	}
	// A search that was stopped says how far it came.
	s.Missing, s.Knees = nil, []metrics.Knee{{Axis: "nodes", Point: []string{"", "1"}, Broker: "legacy", Passes: "50", Limit: "--max-memory 1MiB"}}
	var out bytes.Buffer
	if err := Sweep(&out, "summary", s, TableOptions{}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "Stopped by --max-memory 1MiB before every knee was found") || !strings.Contains(text, "50                   none yet: stopped by --max-memory 1MiB\n") {
		t.Errorf("the summary of a search that was stopped:\n%s", text)
	}
}
