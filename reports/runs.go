package reports

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/simctl/simctl/metrics"
)

// labels names the runs, each differently: by their broker, and where that is not enough
// by what else they differ in, as far as that tells more of them apart.
func labels(runs []*metrics.Result) []string {
	names := make([]string, len(runs))
	for i, r := range runs {
		names[i] = r.Run.Label()
	}
	if distinct(names) {
		return names
	}
	for _, param := range varying(runs) {
		more := make([]string, len(runs))
		for i, r := range runs {
			more[i] = names[i] + " " + settingText(param, setting(r, param))
		}
		if kinds(more) > kinds(names) {
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

// settingText names a setting and its value; the value alone where it is a name itself.
func settingText(name string, v any) string {
	if text, ok := v.(string); ok && text != "" {
		return text
	}
	return name + "=" + paramText(v)
}

// kinds counts how many different names there are.
func kinds(names []string) int {
	return len(slices.Compact(slices.Sorted(slices.Values(names))))
}

func distinct(names []string) bool { return kinds(names) == len(names) }

// varying returns the names of the settings, other than the broker, in which the runs
// differ, sorted.
func varying(runs []*metrics.Result) []string {
	var names []string
	for _, r := range runs[1:] {
		for _, d := range metrics.Compare(runs[0], r).Params {
			names = append(names, d.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func setting(r *metrics.Result, name string) any {
	switch name {
	case "scenario":
		return r.Run.Scenario
	case "seed":
		return r.Run.Seed
	case "clock":
		return r.Run.Clock
	case "target":
		return r.Run.Target
	case "version":
		return r.Run.Version
	}
	return r.Run.Params[name]
}

// paramText formats a parameter; whole numbers get their thousands separated.
func paramText(v any) string {
	switch v := v.(type) {
	case nil:
		return missing
	case json.Number:
		if f, err := v.Float64(); err == nil {
			return number(f)
		}
		return v.String()
	case int:
		return grouped(float64(v))
	case int64:
		return grouped(float64(v))
	case float64:
		return number(v)
	case string, bool:
		return fmt.Sprint(v)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(data)
}

func number(v float64) string {
	if v == math.Trunc(v) {
		return grouped(v)
	}
	return exact(v)
}

// subtitle says in one line what was run, leaving out in what the runs differ.
func subtitle(runs []*metrics.Result) string {
	first := runs[0]
	var differ []string
	if len(runs) > 1 {
		differ = varying(runs)
	}
	var parts []string
	add := func(setting, text string) {
		if !slices.Contains(differ, setting) {
			parts = append(parts, text)
		}
	}
	add("scenario", first.Run.Scenario)
	for _, p := range []struct{ name, noun string }{
		{"nodes", "nodes"}, {"servers", "servers"}, {"system_jobs", "system jobs"}, {"service_jobs", "service jobs"},
	} {
		if v, ok := first.Run.Params[p.name]; ok && paramText(v) != "0" {
			add(p.name, paramText(v)+" "+p.noun)
		}
	}
	add("seed", fmt.Sprintf("seed %d", first.Run.Seed))
	add("clock", first.Run.Clock+" time")
	if first.Run.Target != "simulated" {
		add("target", first.Run.Target)
	}
	return strings.Join(parts, " · ")
}

// phaseNames returns the names of all phases of the runs, in order of first appearance.
func phaseNames(runs []*metrics.Result) []string {
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

// phasesOf returns the phase of that name in every run; nil where a run had none.
func phasesOf(runs []*metrics.Result, name string) []*metrics.Phase {
	phases := make([]*metrics.Phase, len(runs))
	for i, r := range runs {
		phases[i] = r.Phase(name)
	}
	return phases
}

// settingNames returns the names of all settings of the runs: first the parameters, sorted,
// then what every run has.
func settingNames(runs []*metrics.Result) []string {
	var names []string
	for _, r := range runs {
		for name := range r.Run.Params {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return append(slices.Compact(names), "seed", "clock", "target", "version")
}
