package sweep

import (
	"bufio"
	"encoding/csv"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/wording"
)

// CSV writes a tidy table: a line for every cell, broker and seed, with the parameters of the
// run, every figure of the totals and of each phase, and what the run cost the machine. A run
// that failed has a line without figures. A time of -1 never came, and what is empty had nothing to measure.
func CSV(w io.Writer, s *metrics.Sweep) error {
	params, figures := columns(s)
	header := append([]string{"scenario", "cell", "broker", "seed", "status", "attempts"}, params...)
	header = append(append(header, figures...), "file", "error")
	out := csv.NewWriter(w)
	rows := [][]string{header}
	cells := map[string]int{}
	for _, r := range s.Runs {
		point := strings.Join(r.Point, "\x00")
		if cells[point] == 0 {
			cells[point] = len(cells) + 1
		}
		status := "ok"
		if r.Result == nil {
			status = "failed"
		}
		row := []string{s.Scenario, strconv.Itoa(cells[point]), r.Broker, strconv.FormatInt(r.Seed, 10), status, strconv.Itoa(r.Attempts)}
		for _, name := range params {
			row = append(row, paramOf(s, r, name))
		}
		values := map[string]string{}
		if r.Result != nil {
			for _, f := range r.Result.Figures() {
				values[f.Path] = wording.Exact(f.Value)
			}
		}
		for _, path := range figures {
			row = append(row, values[path])
		}
		rows = append(rows, append(row, r.File, r.Error))
	}
	return out.WriteAll(rows)
}

// columns returns the names of the parameters and of the figures of all runs. Counts by type
// or status are in the Result files only.
func columns(s *metrics.Sweep) (params, figures []string) {
	named := map[string]bool{}
	for _, a := range s.Axes {
		named[a.Name] = true
	}
	for _, r := range s.Results() {
		for name := range r.Run.Params {
			named[name] = true
		}
	}
	prefixes := []string{"totals."}
	for _, name := range wording.PhaseNames(s.Results()) {
		prefixes = append(prefixes, "phases."+name+".")
	}
	for _, prefix := range prefixes {
		for _, m := range metrics.PhaseMetrics() {
			figures = append(figures, prefix+m.Name)
		}
	}
	return slices.Sorted(maps.Keys(named)), append(figures, "host.wall_s", "host.cpu_s", "host.peak_rss_bytes")
}

// Bench writes the runs as benchmark results, a line for every run, so that benchstat compares
// brokers and settings: benchstat -col /broker bench.txt. It leaves out failed runs and times
// that never came.
func Bench(w io.Writer, s *metrics.Sweep) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "scenario: %s\n", s.Scenario)
	for _, r := range s.Runs {
		if r.Result == nil {
			continue
		}
		fmt.Fprint(out, "BenchmarkSweep")
		for i, a := range s.Axes {
			fmt.Fprintf(out, "/%s=%s", a.Name, benchWord(r.Point[i]))
		}
		fmt.Fprintf(out, "/broker=%s 1", benchWord(r.Broker))
		for i := range r.Result.Phases {
			p := &r.Result.Phases[i]
			for _, name := range benchMetrics {
				m, _ := metrics.PhaseMetric(name)
				if v := m.Value(p); v >= 0 {
					fmt.Fprintf(out, " %s %s-%s", wording.Exact(v), benchWord(p.Name), strings.ReplaceAll(name, "_", "-"))
				}
			}
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}

// benchMetrics are the figures that brokers are compared by.
var benchMetrics = []string{"raft_entries", "evals_processed", "plans_submitted", "queue_empty_s", "recovery_s", "peak_pending"}

// benchWord replaces what would end an element of a benchmark's name.
func benchWord(text string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == '/' || r == 0x7f {
			return '_'
		}
		return r
	}, text)
}

// paramOf returns a parameter of a run as text. Of a failed run only the axes are known.
func paramOf(s *metrics.Sweep, r metrics.SweepRun, name string) string {
	for i, a := range s.Axes {
		if a.Name == name {
			return r.Point[i]
		}
	}
	if r.Result == nil {
		return ""
	}
	v, ok := r.Result.Run.Params[name]
	if !ok || v == nil {
		return ""
	}
	if f, ok := wording.Number(v); ok {
		return wording.Exact(f)
	}
	return fmt.Sprint(v)
}
