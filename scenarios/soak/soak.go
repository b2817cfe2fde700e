package soak

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/internal/judge"
)

// Finding is what is wrong with the runs of a schedule; nothing if Problems is empty.
type Finding struct {
	Schedule Schedule
	// Problems says what went wrong, one line each.
	Problems []string
	// VirtualS is the virtual time of the longest run, in seconds.
	VirtualS float64
	// Digest stands for every event of every run: two soaks of a schedule in which it is the same
	// were equal event by event. It is empty if some run did not end.
	Digest string
	// Reached are the states that runs came to, in words, in the order of the alphabet.
	Reached []string
}

// Run runs a schedule under every broker, repeats times each and each run in a process of
// its own. It checks that every run ends, keeps every invariant and has an account that explains
// every entry of its Raft log, that the runs of one broker are equal, and that all brokers come to
// the same outcome. Every run is looked at thoroughly; see scenarios.Spec. In the first run, and
// every other one after it, each server applies the log for itself: then the invariant of equal
// replicas means something, and repeats show that sharing results changes none. The error is
// ctx's; everything else is a problem.
func Run(ctx context.Context, s Schedule, brokers []string, repeats int) (Finding, error) {
	var specs []scenarios.Spec
	for _, b := range brokers {
		for i := range max(1, repeats) {
			spec := s.Spec(b)
			spec.IndependentReplicas, spec.Thorough = i%2 == 0, true
			specs = append(specs, spec)
		}
	}
	f, err := examine(ctx, specs)
	f.Schedule = s
	return f, err
}

// examine runs Specs that differ in their brokers only.
func examine(ctx context.Context, specs []scenarios.Spec) (Finding, error) {
	results, err := scenarios.RunAll(ctx, specs, nil)
	if ctx.Err() != nil {
		return Finding{}, context.Cause(ctx)
	}
	f := Finding{}
	problem := func(format string, args ...any) { f.Problems = append(f.Problems, fmt.Sprintf(format, args...)) }
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			problem("%s", strings.TrimSpace(line))
		}
	}
	digests := map[string]string{}
	events := sha256.New()
	for i, res := range results {
		if res == nil {
			continue
		}
		broker := specs[i].Broker
		f.VirtualS = max(f.VirtualS, res.Totals.EndS)
		f.Reached = append(f.Reached, reached(res)...)
		fmt.Fprintln(events, judge.EventsOf(res))
		for _, inv := range res.Invariants {
			if !inv.OK {
				problem("%s broker: %s: %s", broker, inv.Name, inv.Detail)
			}
		}
		for _, line := range unexplained(res.Totals) {
			problem("%s broker: %s", broker, line)
		}
		if err != nil {
			continue // what did not end cannot be compared
		}
		if digest, ok := digests[broker]; ok && digest != res.Digest() {
			problem("%s broker: the same run twice gave digests %.12s and %.12s", broker, digest, res.Digest())
		}
		digests[broker] = res.Digest()
		// A run that did not come to rest is a problem by itself and has no outcome.
		if first, own := judge.OutcomeOf(results[0]), judge.OutcomeOf(res); first != "" && own != "" && !judge.Agree(first, own) {
			problem("%s broker: outcome %s, but %s under the %s broker", broker, own, first, specs[0].Broker)
		}
	}
	f.Problems = slices.Compact(f.Problems)
	slices.Sort(f.Reached)
	f.Reached = slices.Compact(f.Reached)
	if err == nil {
		f.Digest = fmt.Sprintf("%x", events.Sum(nil)[:8])
	}
	return f, nil
}

// unexplained returns a line for each type of entry of which the log has more than events should
// have cost. There may be fewer, since what an event calls for can be lost with a leader. But there must not
// be more: nothing is written without a cause, and no call is applied twice.
func unexplained(p metrics.Phase) []string {
	var lines []string
	rest := p.Unexplained()
	for _, kind := range slices.Sorted(maps.Keys(rest)) {
		if n := rest[kind]; n > 0 {
			lines = append(lines, fmt.Sprintf("the log has %d of type %s, %d more than the events explain", p.RaftEntriesByType[kind], kind, n))
		}
	}
	return lines
}

// Text returns the schedule as a scenario file that begins with what is wrong.
func (f Finding) Text() string {
	var b strings.Builder
	for _, p := range f.Problems {
		fmt.Fprintf(&b, "# %s\n", p)
	}
	return b.String() + "\n" + f.Schedule.Text()
}

// Command returns the command that runs the schedule from a scenario file, under the same judges.
func (f Finding) Command(file string, brokers []string) string {
	line := fmt.Sprintf("simctl scenario run %s --seed %d --broker %s --thorough", scenarios.Quote(file), f.Schedule.Seed, strings.Join(brokers, ","))
	if f.Schedule.cost != "" {
		line += " --cost " + scenarios.Quote(f.Schedule.cost)
	}
	return line
}

// Shrink drops events of a schedule that failed, one at a time, for as long as what is left
// still fails, and returns the last finding. check runs a schedule; its error ends the search,
// and Shrink returns what it has found by then.
func Shrink(f Finding, check func(Schedule) (Finding, error)) (Finding, error) {
	for smaller := true; smaller; {
		smaller = false
		for i := 0; i < f.Schedule.Events(); i++ {
			found, err := check(f.Schedule.Without(f.Schedule.events[i].Number))
			if err != nil {
				return f, err
			}
			if len(found.Problems) > 0 {
				f, smaller = found, true
				i--
			}
		}
	}
	return f, nil
}
