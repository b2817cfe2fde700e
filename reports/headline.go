package reports

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/simctl/simctl/metrics"
)

// headline says in one sentence what the newer run changed, about the phase in which the
// two differ most in Raft entries. It is empty when there is nothing to compare.
func headline(older, newer *metrics.Result) string {
	phase, most := "", -1.0
	for _, p := range older.Phases {
		q := newer.Phase(p.Name)
		if q == nil {
			continue
		}
		if d := math.Abs(float64(p.RaftEntries) - float64(q.RaftEntries)); d > most {
			phase, most = p.Name, d
		}
	}
	if phase == "" {
		return ""
	}
	if most == 0 {
		return "Just as many Raft entries in every phase"
	}
	p, q := older.Phase(phase), newer.Phase(phase)
	parts := []string{fewer(float64(p.RaftEntries), float64(q.RaftEntries))}
	if s := sooner("queue empty", p.QueueEmptyS, q.QueueEmptyS); s != "" {
		parts = append(parts, s)
	}
	if s := sooner("recovered", p.RecoveryS, q.RecoveryS); s != "" {
		parts = append(parts, s)
	}
	return upperFirst(phase) + ": " + strings.Join(parts, ", ")
}

func fewer(older, newer float64) string {
	switch {
	case older == 0:
		return grouped(newer) + " Raft entries instead of none"
	case newer < older:
		return share(1-newer/older, newer == 0) + " fewer Raft entries"
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
func sooner(what string, older, newer float64) string {
	switch {
	case older < 0 && newer < 0:
		return ""
	case newer < 0:
		return what + " no longer"
	case older < 0:
		return fmt.Sprintf("%s after %s instead of never", what, clock(newer))
	case older == 0 || newer == 0:
		return ""
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
