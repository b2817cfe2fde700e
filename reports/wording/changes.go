package wording

import (
	"cmp"
	"fmt"
	"math"
	"strconv"

	"github.com/simctl/simctl/metrics"
)

// change is how one metric of a phase changed, in words.
type change struct {
	phase, metric, text string
	direction           Change
	factor              float64 // at least 1; infinite if one of the two never came or was zero
}

// The metrics that headlines are about, the most telling first. Of the phase in which runs differ most,
// headlines tell tellingMetrics, or loadMetrics if the phase ended by time. Of any phase they tell the greatest
// change of outcomes or, if none of these changed, of efforts.
var (
	tellingMetrics = []string{"raft_entries", "queue_empty_s", "recovery_s", "deployment_s"}
	loadMetrics    = []string{"raft_entries", "evals_processed", "peak_pending", "deployment_s"}
	outcomes       = []string{"recovery_s", "queue_empty_s", "deployment_s", "allocs_replaced_s", "raft_entries"}
	efforts        = []string{"evals_processed", "plans_submitted"}
)

// A difference below these is not spoken of. They are a share of the smaller value, seconds of a time, and a
// number of events.
const (
	leastShare = 0.05
	leastTime  = 0.5
	leastCount = 10
)

// greatest returns the greatest change in one direction of an outcome in any phase. If no outcome changed that
// way, it returns the greatest such change of an effort. Gains in the setup do not count.
func greatest(older, newer *metrics.Result, direction Change) (best change, found bool) {
	phases := PhaseNames([]*metrics.Result{older})
	if direction == Better {
		phases = afterSetup(older, phases)
	}
	for _, names := range [][]string{outcomes, efforts} {
		for _, phase := range phases {
			for _, c := range changesIn(older, newer, phase, names) {
				if c.direction == direction && (!found || c.factor > best.factor) {
					best, found = c, true
				}
			}
		}
		if found {
			return best, true
		}
	}
	return best, false
}

// changesIn says in words how metrics of a phase changed. It leaves out metrics of which there is nothing to say.
func changesIn(older, newer *metrics.Result, phase string, names []string) []change {
	p, q := older.Phase(phase), newer.Phase(phase)
	if q == nil {
		return nil
	}
	var out []change
	for _, name := range names {
		m, _ := metrics.PhaseMetric(name)
		a, b := m.Value(p), m.Value(q)
		c := change{phase: phase, metric: name, factor: 1}
		switch {
		case !m.Measured(a) || !m.Measured(b):
			continue
		case name == "recovery_s" && !recoveryCompares(older, newer, phase):
			continue
		case (name == "recovery_s" || name == "queue_empty_s") && endedByTime(older, newer, phase):
			continue
		case m.Time():
			c.text = sooner(spoken[name].came, spoken[name].never, a, b)
		case name == "peak_pending":
			c.text = more("evals pending at the peak", a, b)
		default:
			c.text = more(m.Title, a, b)
		}
		if c.text == "" {
			continue
		}
		late := func(v float64) float64 {
			if m.Time() && v < 0 {
				return math.Inf(1)
			}
			return v
		}
		least := float64(leastCount)
		if m.Time() {
			least = leastTime
		}
		a, b = late(a), late(b)
		if differ(a, b, least) > 0 {
			c.direction, c.factor = Change(cmp.Compare(b, a)), max(a, b)/min(a, b)
		}
		out = append(out, c)
	}
	return out
}

// spoken is how times are spoken of: when they came, and when they never did.
var spoken = map[string]struct{ came, never string }{
	"queue_empty_s":     {"queue empty", "queue never empty"},
	"recovery_s":        {"recovered", "never recovered"},
	"deployment_s":      {"deployed", "not deployed at the end"},
	"allocs_replaced_s": {"allocations replaced", "allocations never replaced"},
}

// differ returns the difference of two values; zero if there is none to speak of.
func differ(a, b, least float64) float64 {
	if d := math.Abs(a - b); d >= least && d > leastShare*min(a, b) {
		return d
	}
	return 0
}

// more compares two counts of something.
func more(of string, older, newer float64) string {
	switch {
	case newer == older || math.Abs(newer-older) < 0.001*older: // 0% as headlines tell it
		return "as many " + of
	case older == 0:
		return Grouped(newer) + " " + of + " instead of none"
	case newer < older:
		return flooredPercent(1-newer/older, newer == 0) + " fewer " + of
	case newer >= 2*older:
		return roughly(newer/older) + "× as many " + of
	}
	return flooredPercent(newer/older-1, false) + " more " + of
}

// flooredPercent formats a share as a percentage. It rounds down, so that only a whole is
// 100%.
func flooredPercent(x float64, whole bool) string {
	digits := 1
	if x > 0.999 && !whole && x < 1 {
		digits = 2
	}
	scale := math.Pow10(digits)
	v := math.Floor(100*x*scale+1e-9) / scale
	if x < 1 && !whole {
		v = math.Min(v, 99.99)
	}
	return strconv.FormatFloat(v, 'f', -1, 64) + "%"
}

// sooner compares two times. It is empty if there is nothing to say; less than 5% is no
// difference.
func sooner(what, not string, older, newer float64) string {
	switch {
	case older < 0 && newer < 0 || older == 0 && newer == 0:
		return ""
	case newer < 0:
		return fmt.Sprintf("%s instead of after %s", not, Clock(older))
	case older < 0:
		return fmt.Sprintf("%s after %s instead of never", what, Clock(newer))
	case newer == 0:
		return fmt.Sprintf("%s at once instead of after %s", what, Clock(older))
	case older == 0:
		return fmt.Sprintf("%s after %s instead of at once", what, Clock(newer))
	case newer < older*0.95:
		return fmt.Sprintf("%s %s× sooner", what, roughly(older/newer))
	case newer > older*1.05:
		return fmt.Sprintf("%s %s× later", what, roughly(newer/older))
	}
	return what + " at the same time"
}

// roughly formats a factor as people say it.
func roughly(x float64) string {
	if x < 9.95 {
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return Grouped(x)
}
