package wording

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/simctl/simctl/metrics"
)

// Labels returns a different name for each run. A name is the run's broker, with the word baseline if only some
// of the runs come from a baseline. If that does not tell all runs apart, settings in which they differ are added, and
// numbers at last.
func Labels(runs []*metrics.Result) []string {
	names := Brokers(runs)
	if slices.ContainsFunc(runs, func(r *metrics.Result) bool { return !r.OfBaseline }) {
		for i, r := range runs {
			if r.OfBaseline {
				names[i] += " baseline"
			}
		}
	}
	if distinct(names) {
		return names
	}
	// What another scenario is called says more than the variables that it has besides.
	for _, param := range append([]string{"scenario"}, Varying(runs)...) {
		more := make([]string, len(runs))
		for i, r := range runs {
			more[i] = names[i] + " " + settingText(r, param)
		}
		if countDistinct(more) > countDistinct(names) {
			names = more
		}
	}
	if !distinct(names) {
		for i := range names {
			names[i] = fmt.Sprintf("%s #%d", names[i], i+1)
		}
	}
	return names
}

// selfEvident are the settings whose values say by themselves what they are.
var selfEvident = []string{"scenario", "cost", "target", "version"}

// settingText returns a setting's name and value, or the value alone if that says enough. A variable called
// nodes that is not the size of the fleet is called var.nodes.
func settingText(r *metrics.Result, name string) string {
	v := Setting(r, name)
	if text, ok := v.(string); ok && text != "" && slices.Contains(selfEvident, name) {
		return text
	}
	if n, ok := Number(v); name == "nodes" && ok && r.Run.Nodes > 0 && n != float64(r.Run.Nodes) {
		name = "var.nodes"
	}
	return name + "=" + ParamText(v)
}

// Brokers returns the broker of each run.
func Brokers(runs []*metrics.Result) []string {
	brokers := make([]string, len(runs))
	for i, r := range runs {
		brokers[i] = r.Run.Broker
	}
	return brokers
}

// countDistinct returns the number of different names.
func countDistinct(names []string) int {
	return len(slices.Compact(slices.Sorted(slices.Values(names))))
}

func distinct(names []string) bool { return countDistinct(names) == len(names) }

// Varying returns the names of the settings, other than the broker, in which the runs differ,
// sorted.
func Varying(runs []*metrics.Result) []string {
	var names []string
	for _, r := range runs[1:] {
		for _, d := range metrics.Compare(runs[0], r).Params {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Setting returns a setting of a run by its name; nil if the run has none.
func Setting(r *metrics.Result, name string) any { return r.Run.Settings()[name] }

// Number returns a parameter as a number, and whether it is one.
func Number(v any) (float64, bool) {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// ParamText formats a parameter. Whole numbers have commas between thousands.
func ParamText(v any) string {
	if f, ok := Number(v); ok {
		if f == math.Trunc(f) {
			return Grouped(f)
		}
		return Exact(f)
	}
	switch v := v.(type) {
	case nil:
		return Missing
	case json.Number:
		return v.String()
	case string, bool:
		return fmt.Sprint(v)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

// Subtitle says in one line what was run, less what the runs differ in.
func Subtitle(runs []*metrics.Result) string {
	first := runs[0]
	differ := Varying(runs)
	var parts []string
	add := func(setting, text string) {
		if !slices.Contains(differ, setting) {
			parts = append(parts, text)
		}
	}
	add("scenario", first.Run.Scenario)
	if n := first.Run.Nodes; n > 0 && !slices.ContainsFunc(runs, func(r *metrics.Result) bool { return r.Run.Nodes != n }) {
		parts = append(parts, Counted(float64(n), "nodes"))
	} else if _, ok := first.Run.Params["nodes"]; ok && n == 0 {
		add("nodes", settingText(first, "nodes"))
	}
	for _, p := range []struct{ name, noun string }{
		{"servers", "servers"}, {"system_jobs", "system jobs"}, {"service_jobs", "service jobs"},
	} {
		if v, ok := first.Run.Params[p.name]; ok && ParamText(v) != "0" {
			add(p.name, countedText(ParamText(v), p.noun))
		}
	}
	add("seed", fmt.Sprintf("seed %d", first.Run.Seed))
	add("clock", first.Run.Clock+" time")
	if v, ok := first.Run.Params["time_scale"]; ok {
		add("time_scale", "time scale "+ParamText(v))
	}
	if first.Run.Target != "simulated" {
		add("target", first.Run.Target)
	}
	return strings.Join(parts, " · ")
}

// Counted counts things, named in the plural.
func Counted(n float64, plural string) string { return countedText(Grouped(n), plural) }

// countedText puts a number before a plural, which it makes a singular after 1.
func countedText(number, plural string) string {
	if number == "1" {
		return "1 " + singular(plural)
	}
	return number + " " + plural
}

// singular returns what one of a thing is called.
func singular(plural string) string {
	if stem, ok := strings.CutSuffix(plural, "ies"); ok {
		return stem + "y"
	}
	return strings.TrimSuffix(plural, "s")
}

// PhaseNames returns the names of all phases of the runs, in order of first appearance.
func PhaseNames(runs []*metrics.Result) []string {
	var names []string
	for _, r := range runs {
		for _, p := range r.Phases {
			if !slices.Contains(names, p.Name) {
				names = append(names, p.Name)
			}
		}
	}
	return names
}

// phasesNamed returns the phase of that name in every run; nil for a run without it.
func phasesNamed(runs []*metrics.Result, name string) []*metrics.Phase {
	phases := make([]*metrics.Phase, len(runs))
	for i, r := range runs {
		phases[i] = r.Phase(name)
	}
	return phases
}

// SettingNames returns the names of all settings of the runs: first the parameters, sorted,
// then what every run has.
func SettingNames(runs []*metrics.Result) []string {
	var names []string
	for _, r := range runs {
		for name := range r.Run.Params {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return append(slices.Compact(names), "seed", "clock", "target", "version")
}

// RecoveringPhases returns the names of the phases in which any run had something to recover
// from.
func RecoveringPhases(runs []*metrics.Result) []string {
	var names []string
	for _, name := range PhaseNames(runs) {
		if !idle(phasesNamed(runs, name)) {
			names = append(names, name)
		}
	}
	return names
}

// idle reports whether no run processed an evaluation in the phase or recovered from anything.
// The schedulers may have been off.
func idle(phases []*metrics.Phase) bool {
	return !slices.ContainsFunc(phases, func(p *metrics.Phase) bool {
		return p != nil && (p.EvalsProcessed > 0 || p.QueueEmptyS > 0 || p.RecoveryS > 0)
	})
}
