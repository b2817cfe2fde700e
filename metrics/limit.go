package metrics

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ParseLimit reads a demand such as recovery_s<=300 or legacy:phases.drain.raft_entries>=10.
// A figure without a path is one of the totals, one after the name of a phase that phase's;
// a broker and a colon before it limit the demand to its runs. The phases are those the
// runs will have. The error says what is wrong with which part, before anything has run.
func ParseLimit(text string, phases []string) (Threshold, error) {
	compact := strings.Join(strings.Fields(text), "")
	i := strings.IndexAny(compact, "<>=")
	if i < 0 || !strings.HasPrefix(compact[i:], "<=") && !strings.HasPrefix(compact[i:], ">=") {
		return Threshold{}, fmt.Errorf("%q is no limit: it must be METRIC<=NUMBER or METRIC>=NUMBER, such as recovery_s<=300", text)
	}
	t := Threshold{Metric: compact[:i]}
	if broker, rest, ok := strings.Cut(t.Metric, ":"); ok {
		t.Broker, t.Metric = broker, rest
	}
	bound, err := strconv.ParseFloat(compact[i+2:], 64)
	if err != nil || math.IsNaN(bound) {
		return Threshold{}, fmt.Errorf("limit %q: %q is not a number", text, compact[i+2:])
	}
	if t.Max = &bound; compact[i] == '>' {
		t.Max, t.Min = nil, &bound
	}
	if t.Metric, err = FullPath(t.Metric, phases); err != nil {
		return Threshold{}, fmt.Errorf("limit %q: %w", text, err)
	}
	return t, nil
}

// FullPath completes the short form of a figure's path (ParseLimit) for runs of these
// phases, or says what there is no figure of. Series are none: a sweep does not keep them.
func FullPath(path string, phases []string) (string, error) {
	// What a run without a single event would look up.
	probe := &Result{Totals: Totals(nil)}
	for _, name := range phases {
		probe.Phases = append(probe.Phases, Phase{Name: name})
	}
	for _, name := range []string{LatencyWait, LatencyProcess, LatencyResponse} {
		probe.Latencies = append(probe.Latencies, Latency{Name: name})
	}
	root, _, dotted := strings.Cut(path, ".")
	if root == "series" {
		return "", fmt.Errorf("metric %q: the series of many runs are not kept: use a phase, totals, latencies, fan_in or host", path)
	}
	full := path
	switch {
	case !dotted, root == "raft_entries_by_type", root == "evals_by_status":
		full = "totals." + path
	case probe.Phase(root) != nil:
		full = "phases." + path
	}
	_, _, err := probe.Lookup(full)
	return full, err
}

// String returns the demand as ParseLimit reads it, if it is one that has a text.
func (t Threshold) String() string {
	text := strings.TrimPrefix(strings.TrimPrefix(t.Metric, "totals."), "phases.")
	if t.Broker != "" {
		text = t.Broker + ":" + text
	}
	if t.Min != nil {
		return text + ">=" + number(*t.Min)
	}
	if t.Max != nil {
		return text + "<=" + number(*t.Max)
	}
	return text
}
