package language

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// order sorts the phases into the order in which they run: that of the file, except that a
// phase with after follows the phase it names. It also sorts and checks the events of each.
func (d *decoder) order(def *Definition) {
	byName := map[string]Phase{}
	followers := map[string][]Phase{} // of "" are those that follow none
	for _, p := range def.Phases {
		byName[p.Name] = p
		followers[p.After] = append(followers[p.After], p)
	}
	var ordered []Phase
	var visit func(after string)
	visit = func(after string) {
		for _, p := range followers[after] {
			ordered = append(ordered, p)
			visit(p.Name)
		}
	}
	visit("")
	// A phase that was not visited is in a cycle, or after one.
	visited := map[string]bool{}
	for _, p := range ordered {
		visited[p.Name] = true
	}
	for _, p := range def.Phases {
		if !visited[p.Name] {
			d.fail(p.At, "Cycle of phases", "The phase waits for itself: %s.", cycleFrom(p, byName))
			return
		}
	}
	def.Phases = ordered
	for i := range def.Phases {
		def.Phases[i].Events = d.events(def.Phases[i].Events)
	}
}

// cycleFrom names the phases around a cycle that p is in or leads to.
func cycleFrom(p Phase, byName map[string]Phase) string {
	var path []string
	for !slices.Contains(path, p.Name) {
		path = append(path, p.Name)
		p = byName[p.After]
	}
	path = append(path[slices.Index(path, p.Name):], p.Name)
	return strings.Join(path, " after ")
}

// maxTimes is how often an event may repeat.
const maxTimes = 100_000

// Repeated is the filled block of an event that may happen no time at all, and is left out then.
type Repeated interface{ Never() bool }

// events returns the events of a phase in the order of time. A repeated event is several.
func (d *decoder) events(events []Event) []Event {
	var out []Event
	for _, e := range events {
		switch {
		case e.Times > maxTimes:
			d.fail(e.At, "Out of range", "times is %d; it must be %d at most.", e.Times, maxTimes)
			return events
		case float64(e.Every)*float64(e.Times) > float64(maxDuration):
			d.fail(e.At, "Out of range", "%d × %v is longer than %v.", e.Times, e.Every, maxDuration)
			return events
		case e.Times > 1 && e.Every == 0:
			d.fail(e.At, "Missing every", "An event that happens %d times must say how far apart (every).", e.Times)
		}
		if r, ok := e.Args.(Repeated); ok && r.Never() {
			continue
		}
		for i := range max(1, e.Times) {
			one := e
			one.When += e.Every * time.Duration(i)
			out = append(out, one)
		}
	}
	slices.SortStableFunc(out, func(a, b Event) int { return cmp.Compare(a.When, b.When) })
	return out
}
