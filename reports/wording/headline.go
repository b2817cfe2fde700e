package wording

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

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

// unlike says in what two runs differ besides their broker. They are alike if a comparison of them still says
// something: if they have the same broker and differ in one setting alone, or if they have different brokers
// and otherwise differ only in seed, version and what belongs to the brokers.
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
		parts = append(parts, fmt.Sprintf("%s %s and %s", name, given(Setting(runs[0], name)), given(Setting(runs[1], name))))
		own := !sameBroker && strings.HasPrefix(name, "broker_") // what the brokers are
		alike = alike && (own || name == "seed" || name == "version")
	}
	if parts == nil {
		return "", true
	}
	alike = alike || sameBroker && len(parts) == 1
	if more := len(parts) - mostDifferences; more > 0 {
		parts = append(parts[:mostDifferences], fmt.Sprintf("and %s more", Grouped(float64(more))))
	}
	return "unlike runs: " + strings.Join(parts, ", "), alike
}

// mostDifferences and mostOfText bound what a headline says of settings in which runs differ.
const mostDifferences, mostOfText = 6, 60

// given formats a setting for a sentence.
func given(v any) string {
	if v == nil {
		return "unset"
	}
	text := []rune(ParamText(v))
	if len(text) > mostOfText {
		return string(text[:mostOfText]) + "…"
	}
	return string(text)
}

// headline says in one sentence what the newer run changed in the phase in which the two differ most. It
// adds what got worse most, in any phase. If nothing got worse that is not said already, and nothing in that
// phase got better, it adds what got better most. It is empty if there is nothing to compare.
func headline(older, newer *metrics.Result) string {
	phase := tellingPhase(older, newer)
	if phase == "" {
		return ""
	}
	names := tellingMetrics
	if endedByTime(older, newer, phase) {
		names = loadMetrics
	}
	said := changesIn(older, newer, phase, names)
	var parts []string
	for _, c := range said {
		parts = append(parts, c.text)
	}
	text := UpperFirst(phase) + ": " + strings.Join(parts, ", ")
	better := slices.ContainsFunc(said, func(c change) bool { return c.direction == Better })
	for _, sought := range []Change{Worse, Better} {
		c, ok := greatest(older, newer, sought)
		switch {
		case !ok || slices.Contains(said, c) || sought == Better && better:
		case c.phase != phase:
			return text + "; but " + c.phase + ": " + c.text
		case sought == Worse:
			return text + ", but " + c.text
		default:
			return text + ", " + c.text
		}
	}
	return text
}

// recoveryCompares reports whether the times to recovery of a phase can be compared. They cannot if one of the
// runs left its recovery to a later phase, or if in an earlier phase one run left its recovery to a later one
// while the other recovered. Nor can they if the phase ended while a deployment was under way in one of the
// runs, since a deployment is no pending evaluation.
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

// recoversLater reports whether a run did not recover in this phase, but in a later one. Such a phase was not
// meant to last until the recovery.
func recoversLater(r *metrics.Result, phase string) bool {
	at := slices.IndexFunc(r.Phases, func(p metrics.Phase) bool { return p.Name == phase })
	return at >= 0 && r.Phases[at].RecoveryS < 0 &&
		slices.ContainsFunc(r.Phases[at+1:], func(p metrics.Phase) bool { return p.RecoveryS >= 0 })
}

// quietS is how long nothing must be pending for a run to have recovered, less what rounding takes,
// and sampleS the longest time between two samples. Both are shorter where the clock is faster.
const quietS, sampleS = 4.9, 1

// endedByTime reports whether a phase lasted equally long in both runs, and neither had been quiet for long when
// it ended. Then a set time ended it, and what was pending at that instant is a matter of chance.
func endedByTime(older, newer *metrics.Result, phase string) bool {
	p, q := older.Phase(phase), newer.Phase(phase)
	if p == nil || q == nil {
		return false
	}
	scale := 1.0
	if v, ok := Number(Setting(older, "time_scale")); ok {
		scale = v
	}
	lasted := func(p *metrics.Phase) float64 { return p.EndS - p.StartS }
	busy := func(p *metrics.Phase) bool { return p.RecoveryS < 0 || lasted(p)-p.RecoveryS < quietS*scale }
	return busy(p) && busy(q) && math.Abs(lasted(p)-lasted(q)) <= sampleS*scale
}

// headlineOfOne says how the run got through the phases in which it had something to recover
// from. It is empty if there was none.
func headlineOfOne(r *metrics.Result) string {
	var parts []string
	for _, name := range afterSetup(r, RecoveringPhases([]*metrics.Result{r})) {
		p := r.Phase(name)
		end := "never recovered with "
		switch {
		case p.DeploymentS < 0:
			end = "not deployed at the end with "
		case recoversLater(r, name) || endedByTime(r, r, name) && p.RecoveryS >= 0:
			end = ""
		case p.RecoveryS >= 0:
			end = "recovered after " + Clock(p.RecoveryS) + " with "
		}
		parts = append(parts, fmt.Sprintf("%s: %s%s Raft entries", p.Name, end, Grouped(float64(p.RaftEntries))))
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

// tellingPhase returns the phase, among those that both runs had, in which they differ most. If they differ
// equally in several phases, such as not at all, it returns the one that wrote the most entries.
func tellingPhase(older, newer *metrics.Result) string {
	if len(older.Phases) == 0 {
		return ""
	}
	runs := []*metrics.Result{older, newer}
	names := RecoveringPhases(runs)
	if len(names) == 0 {
		names = PhaseNames(runs)
	}
	phase, most := "", []float64{}
	for _, name := range afterSetup(older, names) {
		p, q := older.Phase(name), newer.Phase(name)
		if p == nil || q == nil {
			continue
		}
		a, b := float64(p.RaftEntries), float64(q.RaftEntries)
		d := math.Abs(a - b)
		if d < leastCount {
			d = 0
		}
		rank := []float64{d, timesDiffer(p.QueueEmptyS, q.QueueEmptyS) + timesDiffer(p.RecoveryS, q.RecoveryS), a + b}
		if slices.Compare(rank, most) >= 0 {
			phase, most = name, rank
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
	return differ(a, b, leastTime)
}

// UpperFirst returns the text with its first letter in upper case.
func UpperFirst(s string) string {
	_, size := utf8.DecodeRuneInString(s)
	return strings.ToUpper(s[:size]) + s[size:]
}
