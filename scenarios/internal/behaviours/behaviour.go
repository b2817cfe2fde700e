package behaviours

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/internal/draw"
	"github.com/simctl/simctl/scenarios/internal/words"
	"github.com/simctl/simctl/scenarios/language"
)

// Behaviour is something that units of clients do by themselves, each at times of its own,
// while the behaviour goes on. A unit is a client, or clients that act together.
type Behaviour struct {
	Name  string
	Group string // of clients; empty = all
	// Share of the units takes part, rounded to the nearest whole and chosen by lot.
	Share float64
	// Together is who acts together: nobody (empty), or the clients of one rack, datacenter
	// or group.
	Together string
	Routine  Routine
}

// Routine is what one unit does. All its randomness comes from the source it is given, which
// is the unit's own.
type Routine interface {
	// Begin returns when the unit first acts, counted from the behaviour's beginning; false
	// if it never does.
	Begin(unit int, r *rand.Rand) (time.Duration, bool)
	// Act makes the unit act once and returns how long it then waits; false if that was the
	// last time.
	Act(f *nodesim.Fleet, u *Unit) (time.Duration, bool)
}

// Setting is what a behaviour can depend on beside its own block.
type Setting struct {
	Groups []Group
	// Read reads a file that the scenario names.
	Read func(path string) ([]byte, error)
}

// Kinds are the kinds of behaviours by keyword.
var Kinds = words.Registry[Setting, *Behaviour]{}

// draws are how soak draws kinds.
var draws []Draw

// Draw is how soak draws a kind of behaviour. The order of the draws is part of what a seed
// stands for, so each declares its Place, and another kind takes the next one.
type Draw struct {
	Place, Weight int
	// Lines draws the lines of the kind's own attributes; wait is a distribution for the time
	// between two acts. leave says that the clients it has silenced stay silent.
	Lines func(s *draw.Source, wait string) (lines []string, leave bool)
	kind  string
}

// register declares a kind of behaviour whose block is a Routine and says who takes part.
func register[R interface {
	Routine
	behaviour() *Behaviour
	check() error
}](keyword string, defaults R, d Draw) struct{} {
	words.Add(Kinds, keyword, defaults, func(r R, _ Setting) (*Behaviour, error) {
		b := r.behaviour()
		b.Routine = r
		return b, r.check()
	})
	d.kind = keyword
	draws = append(draws, d)
	return struct{}{}
}

// lots are the draws in their order, each as often as its weight says.
var lots = sync.OnceValue(func() (lots []Draw) {
	slices.SortFunc(draws, func(a, b Draw) int { return cmp.Compare(a.Place, b.Place) })
	for _, d := range draws {
		lots = append(lots, slices.Repeat([]Draw{d}, d.Weight)...)
	}
	return lots
})

// DrawKind draws a kind of behaviour and the lines of its own attributes.
func DrawKind(s *draw.Source, wait string) (kind string, lines []string, leave bool) {
	d := lots()[s.Rand.IntN(len(lots()))]
	lines, leave = d.Lines(s, wait)
	return d.kind, lines, leave
}

// participants are the clients that take part.
type participants struct {
	Group    string  `lang:"ref=group"`
	Share    float64 `lang:"max=1"`
	Together string  `lang:"oneof=rack|datacenter|group"`
}

var everybody = participants{Share: 1}

func (p participants) behaviour() *Behaviour {
	return &Behaviour{Group: p.Group, Share: p.Share, Together: p.Together}
}

// positive returns an error for a distribution that was left out.
func positive(name string, d language.Distribution) error {
	if d.IsZero() || d.A == 0 && d.B == 0 {
		return fmt.Errorf("it must say %s, above 0", name)
	}
	return nil
}

// source returns the source of one purpose of one behaviour: of a unit, or for choosing the
// units (-1).
func source(seed int64, name string, number int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", name, number) // a hash takes every write
	return rand.New(rand.NewPCG(uint64(seed), h.Sum64()))
}

// choose draws the units that take part, in the order of their numbers.
func (b *Behaviour) choose(seed int64, groups []Group) []*Unit {
	all := units(groups, b.Group, b.Together)
	lots := source(seed, b.Name, -1).Perm(len(all))
	chosen := lots[:int(b.Share*float64(len(all))+0.5)]
	slices.Sort(chosen)
	var out []*Unit
	for i, n := range chosen {
		out = append(out, &Unit{number: i, clients: all[n], rand: source(seed, b.Name, n)})
	}
	return out
}
