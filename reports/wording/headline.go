package wording

import (
	"cmp"
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

// opening returns the headline of a report: first what a reader must know before any figure, then
// what the runs show, if it can be said in one sentence.
func (s *Summary) opening(runs []*metrics.Result) string {
	var sentences []string
	say := func(text string) {
		if text != "" {
			sentences = append(sentences, UpperFirst(text))
		}
	}
	stopped := Stopped(runs)
	say(stopped)
	differ, alike := unlike(runs)
	say(differ)
	for _, w := range warnings(runs, s.Labels) {
		say(w)
	}
	if n := len(s.Failures); n > 0 {
		say(Count(n, "check") + " failed")
	}
	switch {
	case stopped != "" || !alike: // figures of a part of a run, or of another one, are no gain
	case len(runs) == 1:
		say(headlineOfOne(runs[0]))
	case len(runs) == 2:
		say(headline(runs[0], runs[1]))
	}
	return strings.Join(sentences, ". ")
}

// warnings returns those of the runs, each once, with the labels of the runs that have it unless
// all do.
func warnings(runs []*metrics.Result, labels []string) []string {
	var texts []string
	of := map[string][]string{}
	for i, r := range runs {
		for _, w := range r.Warnings {
			if of[w] == nil {
				texts = append(texts, w)
			}
			of[w] = append(of[w], labels[i])
		}
	}
	for i, w := range texts {
		if len(of[w]) < len(runs) {
			texts[i] = strings.Join(of[w], ", ") + ": " + w
		}
	}
	return texts
}

// unlike says in what two runs differ, other than their broker, and whether a comparison of them
// says something all the same: about the one setting that differs, or about the brokers under
// another seed or version.
func unlike(runs []*metrics.Result) (text string, alike bool) {
	if len(runs) != 2 {
		return "", true
	}
	a, b := runs[0].Run, runs[1].Run
	if a.Scenario != b.Scenario {
		return fmt.Sprintf("unlike runs: scenarios %s and %s", a.Scenario, b.Scenario), false
	}
	sameBroker := a.Broker == b.Broker
	alike = true
	var parts []string
	if a.Nodes != b.Nodes && a.Nodes > 0 && b.Nodes > 0 {
		parts = append(parts, fmt.Sprintf("%s and %s nodes", Grouped(float64(a.Nodes)), Grouped(float64(b.Nodes))))
		alike = false
	}
	for _, name := range Varying(runs) {
		if name == "nodes" && parts != nil {
			continue // said already
		}
		parts = append(parts, fmt.Sprintf("%s %s and %s", name, ParamText(Setting(runs[0], name)), ParamText(Setting(runs[1], name))))
		own := !sameBroker && strings.HasPrefix(name, "broker_") // what the brokers are
		alike = alike && (own || name == "seed" || name == "version")
	}
	if parts == nil {
		return "", true
	}
	return "unlike runs: " + strings.Join(parts, ", "), alike || sameBroker && len(parts) == 1
}

// headline says in one sentence what the newer run changed: in the phase in which the two
// differ most, and after it the worst of what got worse anywhere. If nothing in that phase got
// better, the best of what did takes the place of the worst. It is empty if there is nothing
// to compare.
func headline(older, newer *metrics.Result) string {
	phase := tellingPhase(older, newer)
	if phase == "" {
		return ""
	}
	said := changesIn(older, newer, phase, tellingMetrics)
	var parts []string
	for _, c := range said {
		parts = append(parts, c.text)
	}
	text := UpperFirst(phase) + ": " + strings.Join(parts, ", ")
	for _, sought := range []Change{Worse, Better} {
		if c, ok := greatest(older, newer, sought); ok && !slices.Contains(said, c) {
			if sought == Worse || !slices.ContainsFunc(said, func(c change) bool { return c.direction == Better }) {
				return text + "; but " + c.phase + ": " + c.text
			}
		}
	}
	return text
}

// change is how one metric of a phase changed, in words.
type change struct {
	phase, metric, text string
	direction           Change
	factor              float64 // at least 1; infinite if one of the two never came or was zero
}

// The metrics that headlines are about, the most telling first: those of the phase in which runs
// differ most, and those whose change anywhere must be told.
var (
	tellingMetrics = []string{"raft_entries", "queue_empty_s", "recovery_s", "deployment_s"}
	outcomes       = []string{"recovery_s", "queue_empty_s", "deployment_s", "allocs_replaced_s", "raft_entries"}
	efforts        = []string{"evals_processed", "plans_submitted"}
)

// Below these a difference is none to speak of: a share of the older value, samples of a time,
// and single events.
const (
	leastShare = 0.05
	leastTime  = 0.5
	leastCount = 10
)

// greatest returns the change in one direction that is the greatest: of an outcome in any phase,
// or else of the effort that it took.
func greatest(older, newer *metrics.Result, direction Change) (best change, found bool) {
	for _, names := range [][]string{outcomes, efforts} {
		for _, p := range older.Phases {
			for _, c := range changesIn(older, newer, p.Name, names) {
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

// changesIn words how metrics of a phase changed, of those that there is something to say of.
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
		case m.Optional && (a == 0 || b == 0):
			continue
		case name == "recovery_s" && !recoveryCompares(older, newer, phase):
			continue
		case m.Time():
			c.text = sooner(spoken[name].came, spoken[name].never, a, b)
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
		if d := math.Abs(a - b); d >= least && d > leastShare*min(a, b) {
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

// recoveryCompares reports whether the times to recovery of a phase say the same of both runs:
// neither left it to a later phase, in which the other had nothing left to recover from, and
// none had a deployment under way, which is no pending evaluation.
func recoveryCompares(older, newer *metrics.Result, phase string) bool {
	for _, p := range older.Phases {
		a, b := recoversLater(older, p.Name), recoversLater(newer, p.Name)
		if p.Name == phase {
			if a || b {
				return false
			}
			break
		}
		if q := newer.Phase(p.Name); q != nil && (a && q.RecoveryS >= 0 || b && p.RecoveryS >= 0) {
			return false
		}
	}
	return older.Phase(phase).DeploymentS >= 0 && newer.Phase(phase).DeploymentS >= 0
}

// recoversLater reports whether a run recovered in a later phase instead of this one, which
// was not meant to last that long.
func recoversLater(r *metrics.Result, phase string) bool {
	at := slices.IndexFunc(r.Phases, func(p metrics.Phase) bool { return p.Name == phase })
	return at >= 0 && r.Phases[at].RecoveryS < 0 &&
		slices.ContainsFunc(r.Phases[at+1:], func(p metrics.Phase) bool { return p.RecoveryS >= 0 })
}

// headlineOfOne says how the run got through the phases in which it had something to recover
// from. It is empty if there was none.
func headlineOfOne(r *metrics.Result) string {
	var parts []string
	for _, name := range afterSetup(r, RecoveringPhases([]*metrics.Result{r})) {
		p := r.Phase(name)
		end := "never recovered"
		switch {
		case p.DeploymentS < 0:
			end = "not deployed at the end"
		case p.RecoveryS >= 0:
			end = "recovered after " + Clock(p.RecoveryS)
		}
		parts = append(parts, fmt.Sprintf("%s: %s with %s Raft entries", p.Name, end, Grouped(float64(p.RaftEntries))))
	}
	return UpperFirst(strings.Join(parts, "; "))
}

// afterSetup leaves out the first phase of a run, which sets it up, unless it is the only one
// named.
func afterSetup(r *metrics.Result, names []string) []string {
	if len(names) > 1 && names[0] == r.Phases[0].Name {
		return names[1:]
	}
	return names
}

// tellingPhase returns the phase, of those that both runs had, in which they differ most; of
// phases that differ alike, the last one.
func tellingPhase(older, newer *metrics.Result) string {
	if len(older.Phases) == 0 {
		return ""
	}
	runs := []*metrics.Result{older, newer}
	names := RecoveringPhases(runs)
	if len(names) == 0 {
		names = PhaseNames(runs)
	}
	phase, entries, times := "", -1.0, -1.0
	for _, name := range afterSetup(older, names) {
		p, q := older.Phase(name), newer.Phase(name)
		if p == nil || q == nil {
			continue
		}
		d := math.Abs(float64(p.RaftEntries) - float64(q.RaftEntries))
		t := timesDiffer(p.QueueEmptyS, q.QueueEmptyS) + timesDiffer(p.RecoveryS, q.RecoveryS)
		if d > entries || d == entries && t >= times {
			phase, entries, times = name, d, t
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

// more compares two counts of something.
func more(of string, older, newer float64) string {
	switch {
	case newer == older:
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

// UpperFirst returns the text with its first byte in upper case.
func UpperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
