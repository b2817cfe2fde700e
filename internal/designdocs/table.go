package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/wording"
	"github.com/simctl/simctl/scenarios/designs"
)

// brokers returns the brokers, the one with the most entries in the storm first.
func (c compared) brokers() []string {
	return slices.SortedFunc(maps.Keys(c[storm]), func(a, b string) int {
		return cmp.Or(cmp.Compare(c[storm][b].Phase("storm").RaftEntries, c[storm][a].Phase("storm").RaftEntries), cmp.Compare(a, b))
	})
}

// table writes a row for each broker.
func table(w io.Writer, c compared) {
	sub := wording.Subtitle([]*metrics.Result{c[storm]["shedding"]})
	_, settings, _ := strings.Cut(sub, " · ")
	fmt.Fprintf(w, "%s. `+` stands for `shedding+`.\n\n", settings)
	fmt.Fprint(w, "| broker | storm: entries | queue empty | recovered | flapping: entries | p99 of a decision | failover: entries | queue empty | p99 of a decision | evaluations held, at most | in state at the end | checks | what it costs |\n")
	fmt.Fprint(w, "|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, broker := range c.brokers() {
		s, f, o := c[storm][broker], c[flapping][broker], c[failover][broker]
		wave := s.Phase("storm")
		row := []string{"`" + short(broker) + "`", grouped(wave.RaftEntries), wording.Clock(wave.QueueEmptyS), wording.Clock(wave.RecoveryS)}
		runs := []*metrics.Result{s}
		if f == nil {
			row = append(row, none, none)
		} else {
			row, runs = append(row, grouped(f.Totals.RaftEntries), staleness(f)), append(runs, f)
		}
		if o == nil {
			row = append(row, none, none, none)
		} else {
			row, runs = append(row, grouped(o.Totals.RaftEntries), wording.Clock(o.Phase("drain").QueueEmptyS), staleness(o)), append(runs, o)
		}
		most, left := 0.0, uint64(0)
		for _, r := range runs {
			most, left = max(most, held(r)), max(left, kept(r))
		}
		row = append(row, wording.Grouped(most), grouped(left), checks(runs...), cost(broker))
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
	}
}

// none stands for what was not run, or is not there.
const none = "–"

func grouped(n uint64) string { return wording.Grouped(float64(n)) }

func short(broker string) string {
	if rest, ok := strings.CutPrefix(broker, "shedding+"); ok {
		return "+" + rest
	}
	return broker
}

// staleness is the time from what calls for a look at a job to the end of the look, which 99 of
// 100 do not exceed.
func staleness(r *metrics.Result) string {
	for _, l := range r.Latencies {
		if l.Name == metrics.LatencyResponse {
			return wording.Duration(l.P99)
		}
	}
	return none
}

// held is the largest number of evaluations in the broker at a sample.
func held(r *metrics.Result) float64 {
	var queues []metrics.Series
	for _, s := range r.Series {
		switch s.Name {
		case metrics.SeriesReady, metrics.SeriesUnacked, metrics.SeriesPending, metrics.SeriesWaiting, metrics.SeriesCancelable:
			queues = append(queues, s)
		}
	}
	most := 0.0
	for _, at := range metrics.Instants(queues...) {
		sum := 0.0
		for _, s := range queues {
			sum += s.At(at)
		}
		most = max(most, sum)
	}
	return most
}

// kept is the number of evaluations in state at the end.
func kept(r *metrics.Result) (sum uint64) {
	for _, n := range r.Totals.EvalsByStatus {
		sum += n
	}
	return sum
}

// checks names the scenarios in which an invariant failed.
func checks(runs ...*metrics.Result) string {
	var failed []string
	for _, r := range runs {
		if slices.ContainsFunc(r.Invariants, func(i metrics.Invariant) bool { return !i.OK }) {
			failed = append(failed, r.Run.Scenario)
		}
	}
	if failed == nil {
		return "yes"
	}
	return "not in " + strings.Join(failed, ", ")
}

// cost is what the designs of a broker cost, in their own words, or that it is the sum of theirs.
func cost(broker string) string {
	switch _, found := designs.Split(broker); len(found) {
	case 0:
		return none
	case 1:
		return found[0].Cost
	}
	return "what its parts cost"
}
