package cpu

import (
	"sync"
	"time"
)

// Collector spends time in bursts: on all cores, once enough is owed. So Go collects the garbage of a
// process: while it does, everybody else on these cores is slower, and faster in between. The zero value owes
// nothing. A Collector is safe for concurrent use.
type Collector struct {
	mu   sync.Mutex
	owed time.Duration
}

// Owe adds d to what is owed, and has the pool spend it in pieces of a size, evenly on all cores; with no size, all of it.
// What it comes to does not depend on the order of calls at one instant. Keys from key on, one
// for each core, are those of no other task.
func (c *Collector) Owe(p *Pool, key uint64, d, size time.Duration) {
	cores := p.Cores()
	if cores == 0 {
		return
	}
	size = max(size, 1)
	c.mu.Lock()
	c.owed += d
	due := c.owed / size
	c.owed %= size
	c.mu.Unlock()
	if due > 0 {
		for core := range cores {
			p.Spend(key+uint64(core), due*size/time.Duration(cores))
		}
	}
}
