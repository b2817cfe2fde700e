package reports

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/simctl/simctl/metrics"
)

// headline says in one sentence what the newer run changed, about the phase in which the
// two differ most in Raft entries, or in their times if they do not. It is empty when there
// is nothing to compare.
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
	return upperFirst(phase) + ": " + strings.Join(parts, ", ")
}

// recoversLater reports whether a run did not recover in a phase but in one after it: the
// phase was not meant to last that long.
func recoversLater(r *metrics.Result, phase string) bool {
	at := slices.IndexFunc(r.Phases, func(p metrics.Phase) bool { return p.Name == phase })
	return r.Phases[at].RecoveryS < 0 &&
		slices.ContainsFunc(r.Phases[at+1:], func(p metrics.Phase) bool { return p.RecoveryS >= 0 })
}

// headlineOfOne says how the phases went in which the run had something to recover from; it
// is empty when there was none.
func headlineOfOne(r *metrics.Result) string {
	var parts []string
	for i := range r.Phases {
		p := &r.Phases[i]
		if idle([]*metrics.Phase{p}) {
			continue
		}
		end := "never recovered"
		if p.RecoveryS >= 0 {
			end = "recovered after " + clock(p.RecoveryS)
		}
		parts = append(parts, fmt.Sprintf("%s: %s with %s Raft entries", p.Name, end, grouped(float64(p.RaftEntries))))
	}
	return upperFirst(strings.Join(parts, "; "))
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

// timesDiffer says by how much, a time that came to one that never did by most.
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
		return grouped(newer) + " Raft entries instead of none"
	case newer < older:
		return share(1-newer/older, newer == 0) + " fewer Raft entries"
	case newer >= 2*older:
		return rough(newer/older) + "× as many Raft entries"
	}
	return share(newer/older-1, false) + " more Raft entries"
}

// share formats a share without ever rounding up to a whole that it is not.
func share(x float64, whole bool) string {
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

// sooner compares two times; "" when there is nothing to say. Differences of less than 5%
// are no news.
func sooner(what, not string, older, newer float64) string {
	switch {
	case older < 0 && newer < 0 || older == 0 && newer == 0:
		return ""
	case newer < 0:
		return fmt.Sprintf("%s instead of after %s", not, clock(older))
	case older < 0:
		return fmt.Sprintf("%s after %s instead of never", what, clock(newer))
	case newer == 0:
		return fmt.Sprintf("%s at once instead of after %s", what, clock(older))
	case older == 0:
		return fmt.Sprintf("%s after %s instead of at once", what, clock(newer))
	case newer < older*0.95:
		return fmt.Sprintf("%s %s× sooner", what, rough(older/newer))
	case newer > older*1.05:
		return fmt.Sprintf("%s %s× later", what, rough(newer/older))
	}
	return what + " at the same time"
}

// rough formats a factor as one would say it.
func rough(x float64) string {
	if x < 9.95 {
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return grouped(x)
}

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
