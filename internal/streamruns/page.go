package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/simctl/simctl/cluster/streams"
	"github.com/simctl/simctl/internal/madeby"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/wording"
)

// writePage writes a table of each directory of Results into a page, and beside the page charts
// of the first directory's.
func writePage(page string, dirs []string) error {
	if len(dirs) == 0 {
		return errors.New("-page needs directories of Results: run make streams")
	}
	var tables bytes.Buffer
	for i, dir := range dirs {
		runs, err := load(dir)
		if err != nil {
			return err
		}
		if i > 0 {
			tables.WriteByte('\n')
		}
		table(&tables, runs)
		if i > 0 {
			continue
		}
		for name, id := range map[string]string{"streams": "raft", "streams-pending": "pending"} {
			if err := madeby.Chart(filepath.Dir(page), name, id, runs); err != nil {
				return err
			}
		}
	}
	return madeby.Put(page, "streams", tables.Bytes())
}

// load reads the Results of a directory. Those of the streams come last, in the order of ways.
func load(dir string) ([]*metrics.Result, error) {
	runs, err := madeby.Results(dir)
	if err != nil {
		return nil, err
	}
	if len(runs) == 0 {
		return nil, fmt.Errorf("%s has no Results: run make streams", dir)
	}
	place := func(r *metrics.Result) int {
		return slices.IndexFunc(ways, func(w way) bool { return w.name == r.Run.Broker })
	}
	slices.SortStableFunc(runs, func(a, b *metrics.Result) int { return cmp.Compare(place(a), place(b)) })
	return runs, nil
}

// table writes a row for each run.
func table(w io.Writer, runs []*metrics.Result) {
	_, settings, _ := strings.Cut(wording.Subtitle(runs[:1]), " · ")
	fmt.Fprintf(w, "%s.\n\n", settings)
	fmt.Fprint(w, "| | drained | storm: entries | nodes | evaluations | plans | consumers | processed | dropped | recovered | behind another of their job, at most | p99 of a decision | checks |\n")
	fmt.Fprint(w, "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, r := range runs {
		p, by := r.Phase("storm"), r.Phase("storm").RaftEntriesByType
		row := []string{
			"`" + r.Run.Broker + "`", wording.Clock(r.Phase("drain").QueueEmptyS), grouped(p.RaftEntries),
			grouped(by[metrics.EntryNodeUpdateStatus]), grouped(by[metrics.EntryEvalUpdate]), grouped(by[metrics.EntryApplyPlanResults]),
			grouped(by[streams.EntryDelivered] + by[streams.EntryAcked] + by[streams.EntryRemoved]), grouped(p.EvalsProcessed), grouped(p.EvalsCanceled), wording.Clock(p.RecoveryS),
			grouped(r.Totals.PeakPending), staleness(r), checks(r),
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
	}
}

func grouped(n uint64) string { return wording.Grouped(float64(n)) }

func staleness(r *metrics.Result) string {
	if l := r.LatencyByName(metrics.LatencyResponse); l != nil {
		return wording.Duration(l.P99)
	}
	return "–"
}

func checks(r *metrics.Result) string {
	for _, i := range r.Invariants {
		if !i.OK {
			return "not " + i.Name
		}
	}
	return "yes"
}
