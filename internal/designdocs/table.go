package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/wording"
	"github.com/simctl/simctl/scenarios/designs"
)

// table has a row for each broker, by the name that the page gives it.
type table struct {
	settings string
	rows     map[string][]string
}

const header = "| broker | storm: entries | queue empty | recovered | flapping: entries | p99 of a decision " +
	"| failover: entries | queue empty | recovered | p99 of a decision | evaluations held, at most | in state at the end | checks | what it costs |"

// Columns after the broker's.
const (
	stormColumn    = 0
	flappingColumn = 3
	failoverColumn = 5
	heldColumn     = 9
	keptColumn     = 10
	checksColumn   = 11
	columns        = 12
)

// settings says what the runs have in common.
func settings(c compared) string {
	_, s, _ := strings.Cut(wording.Subtitle(c.all()[:1]), " · ")
	return s
}

// tableLead follows the settings of a table.
const tableLead = ". `+` stands for `shedding+`.\n\n"

// readTables returns the tables that a page has already. So brokers and scenarios that are not run again keep
// their rows and cells.
func readTables(page string) (tables []*table) {
	for {
		before, after, ok := strings.Cut(page, tableLead)
		if !ok {
			return tables
		}
		t := &table{before[strings.LastIndex(before, "\n")+1:], map[string][]string{}}
		for line := range strings.Lines(after) {
			cells := strings.Split(strings.Trim(line, "| \n"), " | ")
			if name, ok := strings.CutPrefix(cells[0], "`"); ok && len(cells) > columns {
				t.rows[strings.TrimSuffix(name, "`")] = cells[1 : columns+1]
			} else if !strings.HasPrefix(line, "|") {
				break
			}
		}
		tables, page = append(tables, t), after
	}
}

// update puts the cells of runs into a table.
func (t *table) update(c compared) {
	for _, r := range c.all() {
		broker := r.Run.Broker
		row := t.rows[short(broker)]
		if row == nil {
			row = slices.Repeat([]string{none}, columns)
			t.rows[short(broker)] = row
		}
		switch r.Run.Scenario {
		case storm:
			wave := r.Phase("storm")
			copy(row[stormColumn:], []string{grouped(wave.RaftEntries), wording.Clock(wave.QueueEmptyS), wording.Clock(wave.RecoveryS)})
		case flapping:
			copy(row[flappingColumn:], []string{grouped(r.Totals.RaftEntries), staleness(r)})
		case failover:
			drain := r.Phase("drain")
			copy(row[failoverColumn:], []string{grouped(r.Totals.RaftEntries), wording.Clock(drain.QueueEmptyS), wording.Clock(drain.RecoveryS), staleness(r)})
		}
		// These cells are about all scenarios, and only some of them may have been run again. So the old cells count, too.
		row[heldColumn] = wording.Grouped(max(held(r), float64(number(row[heldColumn]))))
		row[keptColumn] = grouped(max(kept(r), number(row[keptColumn])))
		row[checksColumn] = verdict(row[checksColumn], r)
	}
}

// number reads what grouped writes.
func number(s string) uint64 {
	n, _ := strconv.ParseUint(strings.ReplaceAll(s, ",", ""), 10, 64) // – is none
	return n
}

// brokers returns the brokers, the one with the most entries in the storm first.
func (t *table) brokers() []string {
	return slices.SortedFunc(maps.Keys(t.rows), func(a, b string) int {
		return cmp.Or(cmp.Compare(number(t.rows[b][stormColumn]), number(t.rows[a][stormColumn])), cmp.Compare(a, b))
	})
}

// write writes the rows of some brokers, as far as there are any.
func (t *table) write(w io.Writer, brokers []string) {
	fmt.Fprintf(w, "%s%s%s\n|%s\n", t.settings, tableLead, header, strings.Repeat("---|", columns+2))
	for _, name := range brokers {
		if row := t.rows[name]; row != nil {
			fmt.Fprintf(w, "| `%s` | %s | %s |\n", name, strings.Join(row, " | "), cost(long(name)))
		}
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

func long(short string) string {
	if strings.HasPrefix(short, "+") {
		return "shedding" + short
	}
	return short
}

// staleness is the 99th percentile of the time from the event that calls for an evaluation until a worker has finished
// the evaluation.
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

// verdict returns the cell that names the scenarios in which an invariant failed, brought up to date by a run.
func verdict(cell string, r *metrics.Result) string {
	var failed []string
	if names, ok := strings.CutPrefix(cell, "not in "); ok {
		failed = strings.Split(names, ", ")
	}
	failed = slices.DeleteFunc(failed, func(name string) bool { return name == r.Run.Scenario })
	if slices.ContainsFunc(r.Invariants, func(i metrics.Invariant) bool { return !i.OK }) {
		failed = append(failed, r.Run.Scenario)
	}
	if len(failed) == 0 {
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
	for _, d := range designs.All() {
		if d.With != nil && d.Broker() == broker {
			return d.Cost
		}
	}
	return "what its parts cost"
}
