package reports

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"github.com/simctl/simctl/reports/sweep"
)

func TestSweepCSVIsTidy(t *testing.T) {
	s := synthSweep(t)
	var out bytes.Buffer
	if err := sweep.CSV(&out, s); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&out).ReadAll()
	if err != nil || len(rows) != 1+len(s.Runs) {
		t.Fatalf("%d lines (%v), want one for each of %d runs", len(rows), err, len(s.Runs))
	}
	column := func(name string) int { return slices.Index(rows[0], name) }
	for _, name := range []string{"nodes", "schedulers", "broker", "seed", "totals.raft_entries", "phases.drain.recovery_s", "host.wall_s"} {
		if column(name) < 0 {
			t.Fatalf("there is no column %s in %v", name, rows[0])
		}
	}
	for i, r := range s.Runs {
		row := rows[i+1]
		if row[column("nodes")] != r.Point[0] || row[column("broker")] != r.Broker {
			t.Errorf("line %d is %v, want the run %v", i+2, row, r.Point)
		}
		want, status := "", "failed"
		if r.Result != nil {
			want, status = strconv.FormatUint(r.Result.Totals.RaftEntries, 10), "ok"
		}
		if row[column("totals.raft_entries")] != want || row[column("status")] != status {
			t.Errorf("line %d has %s entries and is %s, want %s and %s", i+2, row[column("totals.raft_entries")], row[column("status")], want, status)
		}
	}
}

// TestBenchIsReadByBenchstat reads the export with the parser that benchstat uses.
func TestBenchIsReadByBenchstat(t *testing.T) {
	s := synthSweep(t)
	s.Runs[0].Point = []string{"a b", "c/d"}
	var out bytes.Buffer
	if err := sweep.Bench(&out, s); err != nil {
		t.Fatal(err)
	}
	reader := benchfmt.NewReader(&out, "bench.txt")
	read := 0
	for reader.Scan() {
		res, ok := reader.Result().(*benchfmt.Result)
		if !ok {
			t.Fatalf("not a benchmark: %v", reader.Result())
		}
		read++
		if !strings.Contains(string(res.Name), "/broker=") || strings.Count(string(res.Name), "/") != 3 {
			t.Errorf("a benchmark is called %s", res.Name)
		}
		if v, ok := res.Value("drain-raft-entries"); !ok || v <= 0 {
			t.Errorf("%s has %v entries", res.Name, v)
		}
	}
	if err := reader.Err(); err != nil || read != len(s.Runs)-1 {
		t.Errorf("%d benchmarks read (%v), want %d: all but the failed one", read, err, len(s.Runs)-1)
	}
}
