package simnet

import (
	"errors"
	"fmt"
	"slices"
	"sync"
)

// Fault makes links worse, in both directions unless OneWay is set. Latency and Jitter add
// to those of the link and of other faults, and a message must survive every Loss. A Loss
// of 1 cuts the links.
//
// The links are those from an address in From to one in To. If one of these is nil it
// stands for every address that is not in the other; if both are, for all addresses.
type Fault struct {
	From, To []string
	OneWay   bool
	Link
}

// Validate returns an error that names the first wrong figure and what is allowed.
func (f Fault) Validate() error {
	switch {
	case f.Latency < 0 || f.Jitter < 0:
		return fmt.Errorf("latency %v and jitter %v of a link fault: neither may be negative", f.Latency, f.Jitter)
	case !(f.Loss >= 0 && f.Loss <= 1): // true of NaN
		return fmt.Errorf("loss %g of a link fault: it must be a number from 0 to 1", f.Loss)
	case f.Link == (Link{}):
		return errors.New("a link fault that changes nothing: give latency, jitter or loss")
	}
	return nil
}

// fault is a Fault with its addresses as sets.
type fault struct {
	from, to map[string]bool // nil: see Fault
	oneWay   bool
	Link
}

// Disturb applies a fault, which must be valid, until end is called. Calls of end after the
// first do nothing.
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

// joins reports whether a is in From and b is in To.
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
