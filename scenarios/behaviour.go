package scenarios

import (
	"container/heap"
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/simctl/simctl/nodesim"
)

// Behaviour is something that units of clients do by themselves, each at times of its own,
// from BeginBehaviour to EndBehaviour. A unit is a client, or clients that act together.
type Behaviour struct {
	Name  string
	Group string // of clients; empty = all
	// Share of the units takes part, rounded to the nearest whole and chosen by lot.
	Share float64
	// Together is who acts together: nobody (empty), or the clients of one rack, datacenter
	// or group.
	Together string
	Doing    doing
}

// doing is what one unit does. All its randomness comes from the source it is given, which
// is the unit's own.
type doing interface {
	// begin returns when the unit first acts, counted from the behaviour's beginning; false
	// if it never does.
	begin(unit int, r *rand.Rand) (time.Duration, bool)
	// act makes the unit do what it does and returns how long it then waits; false if that
	// was the last time.
	act(f *nodesim.Fleet, u *unit) (time.Duration, bool)
}

// unit is clients that act together.
type unit struct {
	number  int // within the behaviour
	clients []int
	rand    *rand.Rand
	at      time.Duration // when it acts next
	acted   int           // times
	down    bool
}

// behaving is a Behaviour under way.
type behaving struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup
	units  []*unit // belong to the goroutine until it has ended
}

// behaviourSource returns the source of one purpose of one behaviour: of a unit, or for
// choosing them (-1).
func behaviourSource(seed int64, name string, number int) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%d", name, number) // a hash takes every write
	return rand.New(rand.NewPCG(uint64(seed), h.Sum64()))
}

// choose draws the units that take part, in the order of their numbers.
func (b *Behaviour) choose(seed int64, groups []clientGroup) []*unit {
	var all [][]int
	for _, g := range groups {
		if b.Group == "" || g.name == b.Group {
			all = append(all, g.units(b.Together)...)
		}
	}
	if b.Together == "datacenter" {
		all = mergeDatacenters(groups, b.Group)
	}
	lots := behaviourSource(seed, b.Name, -1).Perm(len(all))
	chosen := lots[:int(b.Share*float64(len(all))+0.5)]
	slices.Sort(chosen)
	var units []*unit
	for i, n := range chosen {
		units = append(units, &unit{number: i, clients: all[n], rand: behaviourSource(seed, b.Name, n)})
	}
	return units
}

// run lets the units act until ctx is done or none has anything left to do.
func (b *behaving) run(ctx context.Context, doing doing, f *nodesim.Fleet, offset time.Duration, scale func(time.Duration) time.Duration) {
	start := time.Now().Add(offset)
	var due agenda
	for _, u := range b.units {
		if at, ok := doing.begin(u.number, u.rand); ok {
			u.at = scale(at)
			due = append(due, u)
		}
	}
	heap.Init(&due)
	for len(due) > 0 {
		u := due[0]
		timer := time.NewTimer(time.Until(start.Add(u.at)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		wait, again := doing.act(f, u)
		u.acted++
		if !again {
			heap.Pop(&due)
			continue
		}
		u.at += max(scale(wait), time.Millisecond) // so that time goes on
		heap.Fix(&due, 0)
	}
}

// agenda orders units by when they act next, and by number at one instant.
type agenda []*unit

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	if a[i].at != a[j].at {
		return a[i].at < a[j].at
	}
	return a[i].number < a[j].number
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(*unit)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

// Actions on behaviours.
type (
	// BeginBehaviour lets the clients behave that way from now on.
	BeginBehaviour struct{ Behaviour *Behaviour }
	// EndBehaviour ends a behaviour. The clients it has silenced come back, unless Leave is
	// set.
	EndBehaviour struct {
		Behaviour string `lang:"required,ref=behaviour"`
		Leave     bool
	}
)

func (a BeginBehaviour) Mark() string { return a.Behaviour.Name + " begins" }

func (a BeginBehaviour) do(r *run) error {
	if r.behaving[a.Behaviour.Name] != nil {
		return fmt.Errorf("behaviour %s has begun already: end it first", a.Behaviour.Name)
	}
	b := &behaving{units: a.Behaviour.choose(r.spec.Seed, groupsOf(r.sc.Fleet))}
	ctx, cancel := context.WithCancel(r.ctx)
	b.cancel = cancel
	// No two behaviours act at one instant, nor with the timers of others.
	offset := time.Duration(len(r.behaving)+1) * 1_013 * time.Nanosecond
	if r.behaving == nil {
		r.behaving = map[string]*behaving{}
	}
	r.behaving[a.Behaviour.Name] = b
	b.wg.Go(func() { b.run(ctx, a.Behaviour.Doing, r.fleet, offset, r.sc.scaleOf) })
	return nil
}

func (a EndBehaviour) Mark() string { return a.Behaviour + " ends" }

func (a EndBehaviour) do(r *run) error {
	b := r.behaving[a.Behaviour]
	if b == nil {
		return fmt.Errorf("behaviour %s has not begun", a.Behaviour)
	}
	delete(r.behaving, a.Behaviour)
	b.end()
	if a.Leave {
		return nil
	}
	for _, u := range b.units {
		if u.down {
			r.fleet.StartClients(u.clients)
		}
	}
	return nil
}

func (b *behaving) end() {
	b.cancel()
	b.wg.Wait()
}

// endBehaviours ends every behaviour, and leaves the clients as they are.
func (r *run) endBehaviours() {
	for _, b := range r.behaving {
		b.end()
	}
	r.behaving = nil
}
