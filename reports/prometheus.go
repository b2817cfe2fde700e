package reports

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/wording"
)

// promEpoch is when runs begin for Prometheus, which knows absolute times only: the instant at
// which virtual clocks start.
var promEpoch = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)

// writePrometheus writes the runs as OpenMetrics text, which "promtool tsdb create-blocks-from
// openmetrics" loads. Series have their own times, counted from promEpoch; figures, latencies
// and invariants have the time at which their run ended.
//
// Package expfmt is no help here: its encoder adds a _sum and a _count to every histogram, of
// which a Result has no sum, and cuts times to milliseconds.
func writePrometheus(w io.Writer, runs []*metrics.Result) error {
	families := promFamilies{}
	for i, label := range wording.Labels(runs) {
		families.add(runs[i], label)
	}
	out := bufio.NewWriter(w)
	for _, name := range slices.Sorted(maps.Keys(families)) {
		f := families[name]
		fmt.Fprintf(out, "# TYPE %s %s\n# HELP %s %s\n", name, f.kind, name, promEscaper.Replace(f.help))
		for _, s := range f.samples {
			fmt.Fprintln(out, s)
		}
	}
	fmt.Fprintln(out, "# EOF")
	return out.Flush()
}

type promFamily struct {
	kind, help string
	samples    []string
}

type promFamilies map[string]*promFamily

// sample appends one sample: the metric's name with a suffix, labels as alternating names and
// values, the value, and its time in seconds of the run.
func (fs promFamilies) sample(name, kind, help, suffix string, labels []string, value, atS float64) {
	name = notInName.ReplaceAllString(name, "_")
	f := fs[name]
	if f == nil {
		f = &promFamily{kind: kind, help: help}
		fs[name] = f
	}
	var pairs []string
	for pair := range slices.Chunk(labels, 2) {
		pairs = append(pairs, pair[0]+`="`+promEscaper.Replace(pair[1])+`"`)
	}
	at := promEpoch.Add(time.Duration(atS * float64(time.Second)))
	f.samples = append(f.samples, fmt.Sprintf("%s%s{%s} %s %d.%06d",
		name, suffix, strings.Join(pairs, ","), promNumber(value), at.Unix(), at.Nanosecond()/1000))
}

func (fs promFamilies) add(r *metrics.Result, label string) {
	run := []string{"run", label, "scenario", r.Run.Scenario, "broker", r.Run.Broker, "seed", strconv.FormatInt(r.Run.Seed, 10)}
	with := func(more ...string) []string { return append(slices.Clone(run), more...) }
	end := r.Totals.EndS
	gauge := func(name, help string, labels []string, v float64) {
		fs.sample(name, "gauge", help, "", labels, v, end)
	}
	for i := range r.Phases {
		p := &r.Phases[i]
		for _, m := range metrics.PhaseMetrics() {
			name, help := "simctl_phase_"+m.Name, m.Title+" of a phase, in "+m.Unit
			if m.Time() {
				name = strings.TrimSuffix(name, "_s") + "_seconds"
				help += "; -1 for never"
			}
			if v := m.Value(p); m.Measured(v) {
				gauge(name, help, with("phase", p.Name), v)
			}
		}
		for _, kind := range slices.Sorted(maps.Keys(p.RaftEntriesByType)) {
			gauge("simctl_phase_raft_entries_by_type", "Raft entries of a phase by message type",
				with("phase", p.Name, "type", kind), float64(p.RaftEntriesByType[kind]))
		}
		for _, status := range slices.Sorted(maps.Keys(p.EvalsByStatus)) {
			gauge("simctl_phase_evals_by_status", "evaluations in the state at the end of a phase",
				with("phase", p.Name, "status", status), float64(p.EvalsByStatus[status]))
		}
	}
	for i, inv := range r.Invariants {
		named := func(other metrics.Invariant) bool { return other.Name == inv.Name }
		if slices.ContainsFunc(r.Invariants[:i], named) {
			continue // checked after several phases, and a series has one value at a time
		}
		ok := 1.0
		if slices.ContainsFunc(r.Invariants[i:], func(other metrics.Invariant) bool { return named(other) && !other.OK }) {
			ok = 0
		}
		gauge("simctl_invariant_ok", "1 where an invariant held", with("invariant", inv.Name), ok)
	}
	for _, l := range r.Latencies {
		fs.histogram(l.Name+"_seconds", "distribution of durations", run, l.Distribution, l.Count, end)
	}
	if d := r.FanIn.Distribution; !d.IsZero() {
		fs.histogram("simctl_fan_in", "triggers that one processed evaluation stood for", run, d, d.Count[len(d.Count)-1], end)
	}
	for _, s := range r.Series {
		for i := range s.AtS {
			if i+1 < len(s.AtS) && s.AtS[i+1] == s.AtS[i] {
				continue // Prometheus keeps one sample an instant: the last
			}
			fs.sample(s.Name, "gauge", "in "+s.Unit, "", run, s.Value[i], s.AtS[i])
		}
	}
}

func (fs promFamilies) histogram(name, help string, run []string, d metrics.Distribution, count uint64, atS float64) {
	bucket := func(le string, n uint64) {
		fs.sample(name, "histogram", help, "_bucket", append(slices.Clone(run), "le", le), float64(n), atS)
	}
	for i, le := range d.LE {
		bucket(promNumber(le), d.Count[i])
	}
	// A _count would ask for a _sum (OpenMetrics 1.0, "Histogram"), which no Result has; the
	// last bucket says the same.
	bucket("+Inf", count)
}

func promNumber(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// notInName matches what a metric's name must not contain.
var notInName = regexp.MustCompile(`[^a-zA-Z0-9_:]`)

var promEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
