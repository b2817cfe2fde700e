package actions

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/simctl/simctl/scenarios/internal/draw"
)

// Kind is a kind of events. Soak first draws a kind and then an event of it.
type Kind int

// Kinds, in the order in which they are drawn.
const (
	OfServers Kind = iota
	OfNetwork
	OfClients
	OfUsers
	OfOperators
	kinds
)

// Soak is how soak draws the events of a keyword; the zero value draws none.
type Soak struct {
	Draws []Draw
	// Refused reports whether a schedule must not have the event, given the kept events before it and all
	// drawn events: the cluster would refuse it, or what comes of it depends on the exact moment, so that
	// brokers may differ in it. Nil refuses nothing.
	Refused func(e draw.Event, before, all []draw.Event) bool
}

// Draw draws an event. Which schedule a seed makes depends on the order of the draws of a kind, so each
// declares its Place in it. A new draw takes the next place, which also changes what seeds make.
type Draw struct {
	Kind          Kind
	Place, Weight int
	Event         func(s *draw.Source) draw.Event
}

// Drawn is a Soak of one draw.
func Drawn(kind Kind, place, weight int, event func(*draw.Source) draw.Event) Soak {
	return Soak{Draws: []Draw{{kind, place, weight, event}}}
}

// Unless returns a Soak that leaves out events that would be refused; see Soak.Refused.
func (s Soak) Unless(refused func(e draw.Event, before, all []draw.Event) bool) Soak {
	s.Refused = refused
	return s
}

var (
	draws   []Draw
	refusal = map[string]func(draw.Event, []draw.Event, []draw.Event) bool{}
)

func (s Soak) declare(keyword string) {
	for _, d := range s.Draws {
		if slices.ContainsFunc(draws, func(o Draw) bool { return o.Kind == d.Kind && o.Place == d.Place }) {
			panic(fmt.Sprintf("actions: %q: another draw of kind %d has place %d", keyword, d.Kind, d.Place))
		}
		draws = append(draws, d)
	}
	if s.Refused != nil {
		refusal[keyword] = s.Refused
	}
}

// Lots returns the draws of each kind in their order, each as often as its weight says. It must
// not be called while packages are initialised.
var Lots = sync.OnceValue(func() [][]Draw {
	slices.SortFunc(draws, func(a, b Draw) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Place, b.Place)) })
	lots := make([][]Draw, kinds)
	for _, d := range draws {
		lots[d.Kind] = append(lots[d.Kind], slices.Repeat([]Draw{d}, d.Weight)...)
	}
	return lots
})

// WithoutRefused returns the events less those that would be refused.
func WithoutRefused(events []draw.Event) []draw.Event {
	var kept []draw.Event
	for _, e := range events {
		if refused := refusal[e.Word]; refused == nil || !refused(e, kept, events) {
			kept = append(kept, e)
		}
	}
	return kept
}
