package cpu

import (
	"testing"
	"time"

	"github.com/simctl/simctl/internal/virtualtest"
)

// TestCollector: what is owed takes no core until there is enough of it, and then all of them.
func TestCollector(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		const ms = time.Millisecond
		p := NewPool(2)
		defer p.Stop()
		var c Collector
		for _, step := range []struct{ owe, size, busy time.Duration }{
			{4 * ms, 10 * ms, 0},
			{5 * ms, 10 * ms, 0},
			{2 * ms, 10 * ms, 10 * ms}, // leaves 1
			{8 * ms, 10 * ms, 0},
			{15 * ms, 10 * ms, 20 * ms}, // leaves 4
			{1 * ms, 20 * ms, 0},        // the heap has grown
			{0, 5 * ms, 5 * ms},
			{3 * ms, 0, 3 * ms}, // an empty heap
		} {
			before := p.Busy()
			c.Owe(p, 1, step.owe, step.size)
			took := time.Now()
			p.Use(9, ms) // behind a burst, if there is one
			waited := time.Since(took) > 2*ms
			time.Sleep(time.Second)
			if busy := p.Busy() - before - ms; busy < step.busy || busy > step.busy+5*time.Microsecond {
				t.Errorf("owing %v more of %v took %v, want %v", step.owe, step.size, busy, step.busy)
			}
			if waited != (step.busy > 0) {
				t.Errorf("owing %v more of %v: others waited is %v", step.owe, step.size, waited)
			}
		}
		c.Owe(nil, 1, ms, ms) // costs nothing
	})
}
