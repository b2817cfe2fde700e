package nodesim

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/uuid"
)

// The methods below are what a scenario does to clients while the fleet runs. They know
// clients by node ID or by number, from 0, and ignore unknown IDs.

// Choose draws a fraction of all clients, rounded to the nearest whole number, from those
// that run, and returns their node IDs in the order of their numbers. Each call draws anew
// from a source that the fleet's seed determines.
func (f *Fleet) Choose(fraction float64) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.idsOf(f.choose(fraction))
}

// Stop silences clients that it draws as Choose does, and returns their node IDs. They send
// nothing from now on and ignore answers to what they have sent.
func (f *Fleet) Stop(fraction float64) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	chosen := f.choose(fraction)
	f.stop(chosen...)
	return f.idsOf(chosen)
}

// StopNodes silences clients by node ID. It ignores stopped ones.
func (f *Fleet) StopNodes(ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stop(f.numbersOf(ids)...)
}

// StopClients silences clients by number. It ignores stopped ones.
func (f *Fleet) StopClients(numbers []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stop(numbers...)
}

// Resume brings stopped clients back to life: they register again under their old IDs, at
// a stagger of RegisterStagger. It ignores running ones.
func (f *Fleet) Resume(ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.start(f.numbersOf(ids)...)
}

// StartClients is Resume by number.
func (f *Fleet) StartClients(numbers []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.start(numbers...)
}

// ReplaceClients replaces clients by new machines: the old node IDs fall silent for good,
// and new ones register at a stagger of RegisterStagger.
func (f *Fleet) ReplaceClients(numbers []int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stop(numbers...)
	for _, i := range numbers {
		c := &f.clients[i]
		c.generation++
		identity := source(f.cfg.Seed^int64(mix(uint64(c.generation))), c.num, seedIdentity)
		c.id, c.allocs, c.override = uuid.Random(&identity), nil, nil
	}
	f.start(numbers...)
}

// Refingerprint changes an attribute of clients, as a fingerprinter does when it finds
// something new. Running clients register again within a retry of NodeUpdate, stopped ones when they are back.
func (f *Fleet) Refingerprint(numbers []int, attribute, value string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, i := range numbers {
		c := &f.clients[i]
		attributes := c.override
		if attributes == nil {
			attributes = f.groups[c.group].Attributes
		}
		c.override = maps.Clone(attributes) // the servers keep the old map
		c.override[attribute] = value
		f.decide(c, func(c *client, now time.Duration) { c.reintroduce(&f.cfg, now) })
	}
	f.arm()
}

// FailAllocs makes up to n allocations of a job fail at this instant, the first in the order of their names, and
// returns how many do. It chooses from those that run on clients that run and report. Each client says so when
// its sync loop ticks next.
func (f *Fleet) FailAllocs(jobID string, n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Since(f.started)
	type victim struct {
		client *client
		row    *rpc.Allocation
	}
	var victims []victim
	for i := range f.clients {
		c := &f.clients[i]
		for j := range c.allocs {
			if a := &c.allocs[j]; c.running && a.seen != nil && a.seen.JobID == jobID && a.runs(now) {
				victims = append(victims, victim{c, a.seen})
			}
		}
	}
	slices.SortFunc(victims, func(a, b victim) int {
		return cmp.Or(cmp.Compare(a.row.Name, b.row.Name), rpc.ByID(a.row, b.row))
	})
	victims = victims[:min(n, len(victims))]
	for _, v := range victims {
		f.decide(v.client, func(c *client, now time.Duration) { c.fail(&f.cfg, now, v.row.ID) })
	}
	f.arm()
	return len(victims)
}

// SetClockRate sets the speed of clients' clocks: a client heartbeats late at 0.5, when half
// a second passes on its clock in a second, and early at 2. Waits under way are not
// affected. The error is for a rate that is not above 0.
func (f *Fleet) SetClockRate(ids []string, rate float64) error {
	if !(rate > 0) { // true of NaN
		return fmt.Errorf("clock rate %g: it must be a number above 0", rate)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, i := range f.numbersOf(ids) {
		f.clients[i].rate = rate
	}
	return nil
}

// StoppedNodes returns the node IDs of the stopped clients, in the order of their numbers.
func (f *Fleet) StoppedNodes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.idsOf(f.numbers(func(c *client) bool { return !c.running }))
}

// InGroup returns the numbers of the clients of a group in ascending order: of all clients
// if name is empty, none if there is no such group.
func (f *Fleet) InGroup(name string) []int {
	return f.numbers(func(c *client) bool { return name == "" || f.groups[c.group].Name == name })
}

// IDsInGroup returns the node IDs of the clients that InGroup returns.
func (f *Fleet) IDsInGroup(name string) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.idsOf(f.InGroup(name))
}

// The functions below are called with mu held, but InGroup may ask for what never changes.

// IDs returns the node IDs of clients by number.
func (f *Fleet) IDs(numbers []int) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.idsOf(numbers)
}

func (f *Fleet) choose(fraction float64) []int {
	running := f.numbers(func(c *client) bool { return c.running })
	n := int(max(fraction, 0)*float64(len(f.clients)) + 0.5)
	rand.New(&f.selection).Shuffle(len(running), func(i, j int) {
		running[i], running[j] = running[j], running[i]
	})
	chosen := running[:min(n, len(running))]
	slices.Sort(chosen)
	return chosen
}

func (f *Fleet) stop(numbers ...int) {
	for _, i := range numbers {
		if c := &f.clients[i]; c.running {
			f.decide(c, func(c *client, _ time.Duration) { c.stop() })
		}
	}
}

func (f *Fleet) start(numbers ...int) {
	for _, i := range numbers {
		if c := &f.clients[i]; !c.running {
			f.decide(c, func(c *client, now time.Duration) { c.start(&f.cfg, now) })
		}
	}
	f.arm()
}

func (f *Fleet) idsOf(numbers []int) []string {
	ids := make([]string, 0, len(numbers))
	for _, i := range numbers {
		ids = append(ids, f.clients[i].id)
	}
	return ids
}

func (f *Fleet) numbersOf(ids []string) []int {
	wanted := make(map[string]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	return f.numbers(func(c *client) bool { return wanted[c.id] })
}

func (f *Fleet) numbers(are func(*client) bool) []int {
	var numbers []int
	for i := range f.clients {
		if are(&f.clients[i]) {
			numbers = append(numbers, i)
		}
	}
	return numbers
}
