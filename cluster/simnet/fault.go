package simnet

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// Fault makes links worse than they are, in both directions unless it is OneWay, on top of
// what they are and of other faults: latencies and jitters add up, and a message must
// survive every loss. A Loss of 1 cuts the links.
//
// The links are those between an address of From and one of To. Either may be nil: everybody
// who is not in the other. If both are, every link is meant.
type Fault struct {
	From, To []string
	OneWay   bool
	Link
}

// Validate names the first figure that cannot be.
func (f Fault) Validate() error {
	switch {
	case f.Latency < 0 || f.Jitter < 0:
		return fmt.Errorf("latency %v and jitter %v of a link fault: neither may be negative", f.Latency, f.Jitter)
	case !(f.Loss >= 0 && f.Loss <= 1): // so that a NaN is refused
		return fmt.Errorf("loss %g of a link fault: it must be a number from 0 to 1", f.Loss)
	case f.Link == (Link{}):
		return errors.New("a link fault that changes nothing: give latency, jitter or loss")
	}
	return nil
}

// fault is a Fault with its addresses as sets.
type fault struct {
	from, to map[string]bool // nil: everybody not in the other
	oneWay   bool
	Link
}

// Disturb makes links worse until end is called, which may be called twice.
func (n *Network) Disturb(f Fault) (end func()) {
	added := &fault{from: setOf(f.From), to: setOf(f.To), oneWay: f.OneWay, Link: f.Link}
	n.changeFaults(func(all []*fault) []*fault { return append(all, added) })
	return sync.OnceFunc(func() {
		n.changeFaults(func(all []*fault) []*fault {
			return slices.DeleteFunc(all, func(f *fault) bool { return f == added })
		})
	})
}

func (n *Network) changeFaults(change func([]*fault) []*fault) {
	n.mu.Lock()
	defer n.mu.Unlock()
	var now []*fault
	if old := n.faults.Load(); old != nil {
		now = slices.Clone(*old)
	}
	if now = change(now); len(now) == 0 {
		n.faults.Store(nil)
		return
	}
	n.faults.Store(&now)
}

// disturbed returns a link as the faults leave it.
func (n *Network) disturbed(l Link, from, to string) Link {
	faults := n.faults.Load()
	if faults == nil || from == to {
		return l
	}
	for _, f := range *faults {
		if f.concerns(from, to) {
			l.Latency += f.Latency
			l.Jitter += f.Jitter
			l.Loss = 1 - (1-l.Loss)*(1-f.Loss)
		}
	}
	return l
}

func (f *fault) concerns(from, to string) bool {
	return f.joins(from, to) || !f.oneWay && f.joins(to, from)
}

// joins: a is in From and b in To. The other set of a nil one is what it leaves out.
func (f *fault) joins(a, b string) bool {
	switch {
	case f.from == nil && f.to == nil:
		return true
	case f.from == nil:
		return !f.to[a] && f.to[b]
	case f.to == nil:
		return f.from[a] && !f.from[b]
	}
	return f.from[a] && f.to[b]
}

func setOf(addresses []string) map[string]bool {
	if addresses == nil {
		return nil
	}
	set := make(map[string]bool, len(addresses))
	for _, a := range addresses {
		set[a] = true
	}
	return set
}

// loses decides by the hash of a message whether the link loses it.
func (l Link) loses(h uint64) bool { return l.Loss > 0 && unit(Mix(h)) < l.Loss }

// delay is how long the link takes for a message of that hash.
func (l Link) delay(h uint64) time.Duration {
	return l.Latency + time.Duration(unit(h)*float64(l.Jitter))
}
