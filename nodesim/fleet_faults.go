package nodesim

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Choose returns the node IDs of a share of the clients: fraction of all of them rounded to
// the nearest whole, chosen by the fleet's seed among those that are running, in the order
// of their numbers. Every call chooses anew.
func (f *Fleet) Choose(fraction float64) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.idsOf(f.choose(fraction))
}

// StopNodes silences clients by their node IDs. Unknown IDs and stopped clients are passed
// over.
func (f *Fleet) StopNodes(ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, i := range f.numbers(ids) {
		if f.clients[i].running {
			f.halt(i)
		}
	}
	f.arm()
}

// StoppedNodes returns the node IDs of the clients that are stopped, in the order of their
// numbers.
func (f *Fleet) StoppedNodes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var stopped []int
	for i := range f.clients {
		if !f.clients[i].running {
			stopped = append(stopped, i)
		}
	}
	return f.idsOf(stopped)
}

// SetClockRate makes the clocks of clients run at a rate: at 0.5 half a second passes on them
// in a second, so they send their heartbeats late; at 2 they send them early. Waits under
// way stay as they are. Unknown IDs are passed over. The error is for a rate that is not
// positive.
func (f *Fleet) SetClockRate(ids []string, rate float64) error {
	if !(rate > 0) { // so that a NaN is refused
		return fmt.Errorf("clock rate %g: it must be a number above 0", rate)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, i := range f.numbers(ids) {
		f.clients[i].rate = rate
	}
	return nil
}

// choose, and what follows, are called with mu held.
func (f *Fleet) choose(fraction float64) []int {
	var candidates []int
	for i := range f.clients {
		if f.clients[i].running {
			candidates = append(candidates, i)
		}
	}
	n := int(max(fraction, 0)*float64(len(f.clients)) + 0.5)
	rand.New(&f.selection).Shuffle(len(candidates), func(i, j int) {
		candidates[i], candidates[j] = candidates[j], candidates[i]
	})
	candidates = candidates[:min(n, len(candidates))]
	slices.Sort(candidates)
	return candidates
}

func (f *Fleet) halt(i int) {
	f.endWatch(i)
	f.decide(&f.clients[i], func(c *client, _ time.Duration) { c.stop() })
}

func (f *Fleet) idsOf(numbers []int) []string {
	ids := make([]string, 0, len(numbers))
	for _, i := range numbers {
		ids = append(ids, f.clients[i].id)
	}
	return ids
}

func (f *Fleet) numbers(ids []string) []int {
	wanted := make(map[string]bool, len(ids))
	for _, id := range ids {
		wanted[id] = true
	}
	var numbers []int
	for i := range f.clients {
		if wanted[f.clients[i].id] {
			numbers = append(numbers, i)
		}
	}
	return numbers
}
