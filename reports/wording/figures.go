package wording

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/simctl/simctl/metrics"
)

// FigureName returns what people call the figure of a path, such as "Drain: recovery".
func FigureName(path string) string {
	m, where := MetricOf(path)
	if m.Name != "" {
		return UpperFirst(cmp.Or(where, "all phases")) + ": " + m.Title
	}
	parts := strings.Split(path, ".")
	last := parts[len(parts)-1]
	switch root := parts[0]; {
	case path == "host.cpu_s":
		return "Cost of a run: CPU time"
	case path == "host.wall_s":
		return "Cost of a run: wall time"
	case path == "host.peak_rss_bytes":
		return "Cost of a run: memory"
	case root == "fan_in":
		return "Triggers per processed evaluation: " + quantileName(last)
	case root == "latencies":
		name := strings.TrimSuffix(strings.TrimPrefix(path, "latencies."), "."+last)
		return UpperFirst(cmp.Or(latencyNames[name], name)) + ": " + quantileName(last)
	}
	for group, words := range map[string]string{"raft_entries_by_type": "Raft entries of ", "evals_by_status": "evaluations that are "} {
		before, key, found := strings.Cut(path, "."+group+".")
		if where = strings.TrimPrefix(before, "phases."); found {
			if before == "totals" {
				where = "all phases"
			}
			return UpperFirst(where) + ": " + words + key
		}
	}
	return path
}

// PhaseFigure returns what people call a figure of a phase, by its path after the phase.
func PhaseFigure(path string) string {
	if m, ok := metrics.PhaseMetric(path); ok {
		return m.Title
	}
	group, key, _ := strings.Cut(path, ".")
	switch group {
	case "raft_entries_by_type":
		return "entries " + strings.TrimSuffix(key, "RequestType")
	case "evals_by_status":
		return "evals " + key
	}
	return strings.ReplaceAll(strings.TrimSuffix(path, "_s"), "_", " ")
}

// latencyNames are what people call the latencies.
var latencyNames = map[string]string{
	metrics.LatencyWait: "wait in the broker", metrics.LatencyProcess: "held by a worker", metrics.LatencyResponse: "response",
}

func quantileName(q string) string {
	switch q {
	case "p50":
		return "median"
	case "max":
		return "greatest"
	}
	return q
}

// MetricOf returns the metric and the phase that a path names. The phase is empty for totals,
// and the metric has no name for any other path.
func MetricOf(path string) (m metrics.Metric, phase string) {
	parts := strings.Split(path, ".")
	switch {
	case len(parts) == 3 && parts[0] == "phases":
		phase = parts[1]
	case len(parts) == 2 && parts[0] == "totals":
	default:
		return metrics.Metric{}, ""
	}
	m, ok := metrics.PhaseMetric(parts[len(parts)-1])
	if !ok {
		return metrics.Metric{}, ""
	}
	return m, phase
}

// LengthOfTime reports whether the figure of a path is a length of time that is no instant of a
// run: a latency, or the cost to the machine.
func LengthOfTime(path string) bool {
	return path == "host.cpu_s" || path == "host.wall_s" || strings.HasPrefix(path, "latencies.") && !strings.HasSuffix(path, ".count")
}

// Figure formats the figure of a path; a brief count has an SI prefix.
func Figure(path string, v float64, briefly bool) string {
	m, _ := MetricOf(path)
	switch {
	case m.Time() && v < 0:
		return Never
	case m.Time():
		return Clock(v)
	case LengthOfTime(path):
		return Duration(v)
	case path == "host.peak_rss_bytes":
		return BytesSI(uint64(v))
	case briefly:
		return SI(v)
	case v < 10:
		return Short(v)
	}
	return Grouped(v)
}

// Precisely formats the figure of a path to be told beside a bound. Times have up to four decimals; other
// figures are as Figure formats them.
func Precisely(path string, v float64) string {
	m, _ := MetricOf(path)
	if m.Time() && v >= 0 || LengthOfTime(path) {
		return Exact(round(v, 1e4)) + " s"
	}
	return Figure(path, v, false)
}

// Measured formats the value of a metric's path with its unit.
func Measured(path string, value float64) string {
	m, _ := MetricOf(path)
	switch {
	case value < 0 && strings.HasSuffix(path, "_s"):
		return Never
	case m.Time() && value >= 60:
		return fmt.Sprintf("%s s (%s)", Exact(round(value, 1e3)), Clock(value))
	case m.Time():
		return Exact(round(value, 1e3)) + " s"
	case LengthOfTime(path):
		return Exact(round(value, 1e4)) + " s"
	}
	return strings.TrimSpace(countedText(Exact(value), m.Unit))
}

// manyDigits matches a number with more decimals than anybody reads.
var manyDigits = regexp.MustCompile(`\d+\.\d{4,}`)

// Demanded returns the demand of a threshold, with three decimals at most. The file keeps the
// others, which the digest of a Result covers.
func Demanded(v metrics.Verdict) string {
	return manyDigits.ReplaceAllStringFunc(v.Demand, func(text string) string {
		x, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return text
		}
		return Exact(round(x, 1e3))
	})
}
