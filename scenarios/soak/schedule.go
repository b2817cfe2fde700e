package soak

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/draw"
	"github.com/simctl/simctl/scenarios/language"
)

// Schedule is a random scenario with faults, made from a seed alone: a small cluster, some
// jobs, and events over a few minutes. The phase of the events ends when the cluster has
// settled, and then every invariant must hold.
type Schedule struct {
	Seed   int64
	events []draw.Event
	left   []int  // numbers of the events that were left out, from 1, ascending
	head   string // everything in front of the events
	end    string // everything after them
	cost   string // see Costing
}

// window is when events come, from the start of their phase.
const window = 2 * time.Minute

// NewSchedule makes the schedule of a seed: the same one every time.
func NewSchedule(seed int64) Schedule {
	g := newGenerator(seed)
	s := Schedule{Seed: seed, head: g.head()}
	s.end = g.end()
	for range 3 + g.Rand.IntN(8) {
		s.events = append(s.events, g.event())
	}
	if g.second.IntN(3) > 0 {
		s.events = append(s.events, g.restart())
	}
	slices.SortStableFunc(s.events, func(a, b draw.Event) int { return cmp.Compare(a.At, b.At) })
	s.events = actions.WithoutRefused(s.events)
	for i := range s.events {
		s.events[i].Number = i + 1
	}
	return s
}

// event draws one event: of a server, of the network, of clients, of users or of operators.
func (g *generator) event() draw.Event {
	lots := actions.Lots()
	at := g.Instant(window)
	of := lots[g.Rand.IntN(len(lots))]
	e := of[g.Rand.IntN(len(of))].Event(&g.Source)
	e.At = at
	return e
}

// Drawn returns the events, in the order of time.
func (s Schedule) Drawn() []metrics.SoakEvent {
	var all []metrics.SoakEvent
	for _, e := range s.events {
		all = append(all, metrics.SoakEvent{AtS: e.At.Seconds(), Word: e.Word})
	}
	return all
}

// Words returns the keywords of the events that schedules are made of, in the order of the alphabet. Only the draws
// know them, and what a draw makes depends on the cluster. So it draws for as many seeds as it takes to meet all.
var Words = sync.OnceValue(func() []string {
	var words []string
	for seed := range int64(12) {
		g := newGenerator(seed)
		g.head()
		words = append(words, g.restart().Word)
		for _, of := range actions.Lots() {
			for _, one := range of {
				words = append(words, one.Event(&g.Source).Word)
			}
		}
	}
	slices.Sort(words)
	return slices.Compact(words)
})

// Events returns the number of events.
func (s Schedule) Events() int { return len(s.events) }

// Left returns the numbers of the events that were left out, ascending.
func (s Schedule) Left() []int { return slices.Clone(s.left) }

// Without returns the schedule without some of its events, by their numbers: 1 is the first
// that the seed made. Unknown numbers are ignored.
func (s Schedule) Without(numbers ...int) Schedule {
	all := s.events
	s.events, s.left = nil, slices.Clone(s.left)
	for _, e := range all {
		if slices.Contains(numbers, e.Number) {
			s.left = append(s.left, e.Number)
		} else {
			s.events = append(s.events, e)
		}
	}
	slices.Sort(s.left)
	return s
}

// Under returns the schedule for runs under these brokers. In some releases a node that was
// disconnected is not ready before its client has reported an allocation (docs/releases.md). Some
// nodes wait for ever, in Nomad as well. So if one of the brokers is of such a release, clients report, and all
// nodes are drained in the end: clients then report the allocations that stop.
func (s Schedule) Under(brokers []string) Schedule {
	if strings.Contains(s.head, maxClientDisconnect) && slices.ContainsFunc(brokers, scenarios.AwaitsReports) {
		s.head = strings.Replace(s.head, reportAllocations+"false", reportAllocations+"true", 1)
		s.end = drainAll + s.end
	}
	return s
}

// Costing returns the schedule for runs in which work costs what scenarios.Spec.Cost says. It is no part of the schedule's text.
func (s Schedule) Costing(cost string) Schedule {
	s.cost = cost
	return s
}

// drainAll moves everything, and then makes schedulers look at jobs that nobody wakes.
const drainAll = `  event "drain_nodes" {
    at       = "6m15s"
    fraction = 1
    deadline = "1s"
  }

  event "end_drains" {
    at       = "7m"
    fraction = 1
  }

  event "evaluate_jobs" {
    at = "7m20s"
  }

`

// Text returns the schedule as a scenario file.
func (s Schedule) Text() string {
	var b strings.Builder
	b.WriteString(s.head)
	for _, e := range s.events {
		b.WriteString(e.Behaviour)
	}
	b.WriteString(start)
	for _, e := range s.events {
		fmt.Fprintf(&b, "  # %d\n", e.Number)
		for _, word := range e.First {
			fmt.Fprintf(&b, "  event %q {\n    at = %q\n  }\n\n", word, e.At)
		}
		fmt.Fprintf(&b, "  event %q {\n    at = %q\n", e.Word, e.At)
		for _, l := range e.Lines {
			fmt.Fprintf(&b, "    %s\n", l)
		}
		fmt.Fprintf(&b, "  }\n\n%s", e.End)
	}
	b.WriteString(s.end)
	text, err := language.Format(s.name(), []byte(b.String()))
	if err != nil {
		panic(fmt.Sprintf("the schedule of seed %d is no scenario file: %v", s.Seed, err)) // a bug in this program
	}
	return string(text)
}

// start is the beginning of every schedule: jobs and clients, then schedulers. What has not settled
// in a day never will.
const start = `phase "register" {
  event "register_jobs" {}
  event "start_clients" {}

  until "registered" {}
}

phase "drain" {
  event "schedulers" {
    per_server = 2
  }

  until "recovered" {}
}

phase "faults" {
  timeout = "24h"

`

// end returns the end of the schedule. A client whose identity has expired, because it could not
// be renewed in time, does not come back before somebody restarts it. So somebody does.
func (g *generator) end() string {
	restart := ""
	if g.Signs {
		restart = `
  event "stop_clients" {
    at = "6m2s"
  }

  event "resume_clients" {
    at = "6m12s"
  }
`
	}
	return `  event "heal" {
    at = "6m"
  }

  event "resume_eval_broker" {
    at = "6m1s"
  }
` + restart + `
  until "settled" {}
}
`
}

// Spec returns a run of the schedule.
func (s Schedule) Spec(broker string) scenarios.Spec {
	return scenarios.Spec{Scenario: fmt.Sprintf("soak-%d", s.Seed), File: s.name(), Source: s.Text(), Broker: broker, Seed: s.Seed, Cost: s.cost}
}

func (s Schedule) name() string { return fmt.Sprintf("soak-%d.hcl", s.Seed) }
