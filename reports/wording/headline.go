package wording

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/simctl/simctl/metrics"
)

// Stopped says which runs a limit ended before they were over, and in which phase. It is empty if
// all of them ended by themselves.
func Stopped(runs []*metrics.Result) string {
	var parts []string
	for i, label := range Labels(runs) {
		if r := runs[i]; r.Stopped != "" {
			parts = append(parts, fmt.Sprintf("%s by %s in phase %s", label, r.Stopped, r.Phases[len(r.Phases)-1].Name))
		}
	}
	if parts == nil {
		return ""
	}
	return "stopped before the end: " + strings.Join(parts, ", ")
}

// headline says in one sentence what the newer run changed in the phase in which the two
// differ most in Raft entries, or else in their times. It is empty if there is nothing to
// compare.
func headline(older, newer *metrics.Result) string {
	phase := tellingPhase(older, newer)
	if phase == "" {
		return ""
	}
	p, q := older.Phase(phase), newer.Phase(phase)
	parts := []string{entries(float64(p.RaftEntries), float64(q.RaftEntries))}
	times := []string{sooner("queue empty", "queue never empty", p.QueueEmptyS, q.QueueEmptyS)}
	if !recoversLater(older, phase) && !recoversLater(newer, phase) {
		times = append(times, sooner("recovered", "never recovered", p.RecoveryS, q.RecoveryS))
	}
	for _, s := range times {
		if s != "" {
			parts = append(parts, s)
		}
	}
	return UpperFirst(phase) + ": " + strings.Join(parts, ", ")
}

// recoversLater reports whether a run recovered in a later phase instead of this one, which
// was not meant to last that long.
func recoversLater(r *metrics.Result, phase string) bool {
	at := slices.IndexFunc(r.Phases, func(p metrics.Phase) bool { return p.Name == phase })
	return r.Phases[at].RecoveryS < 0 &&
		slices.ContainsFunc(r.Phases[at+1:], func(p metrics.Phase) bool { return p.RecoveryS >= 0 })
}

// headlineOfOne says how the run got through the phases in which it had something to recover
// from. It is empty if there was none.
func headlineOfOne(r *metrics.Result) string {
	var parts []string
	for i := range r.Phases {
		p := &r.Phases[i]
		if idle([]*metrics.Phase{p}) {
			continue
		}
		end := "never recovered"
		if p.RecoveryS >= 0 {
			end = "recovered after " + Clock(p.RecoveryS)
		}
		parts = append(parts, fmt.Sprintf("%s: %s with %s Raft entries", p.Name, end, Grouped(float64(p.RaftEntries))))
	}
	return UpperFirst(strings.Join(parts, "; "))
}

// tellingPhase returns the phase, of those that both runs had, in which they differ most.
func tellingPhase(older, newer *metrics.Result) string {
	phase, entries, times := "", -1.0, -1.0
	for _, p := range older.Phases {
		q := newer.Phase(p.Name)
		if q == nil {
			continue
		}
		d := math.Abs(float64(p.RaftEntries) - float64(q.RaftEntries))
		t := timesDiffer(p.QueueEmptyS, q.QueueEmptyS) + timesDiffer(p.RecoveryS, q.RecoveryS)
		if d > entries || d == entries && t > times {
			phase, entries, times = p.Name, d, t
		}
	}
	return phase
}

// timesDiffer returns the difference of two times. It is largest if only one of them came.
func timesDiffer(a, b float64) float64 {
	switch {
	case a < 0 && b < 0:
		return 0
	case a < 0 || b < 0:
		return math.MaxFloat32
	}
	return math.Abs(a - b)
}

func entries(older, newer float64) string {
	switch {
	case newer == older:
		return "as many Raft entries"
	case older == 0:
		return Grouped(newer) + " Raft entries instead of none"
	case newer < older:
		return flooredPercent(1-newer/older, newer == 0) + " fewer Raft entries"
	case newer >= 2*older:
		return roughly(newer/older) + "× as many Raft entries"
	}
	return flooredPercent(newer/older-1, false) + " more Raft entries"
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

// UpperFirst returns the text with its first byte in upper case.
func UpperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
