package behaviours

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/simctl/simctl/internal/heap"
	"github.com/simctl/simctl/nodesim"
)

// Unit is clients that act together.
type Unit struct {
	number  int // within the behaviour
	clients []int
	rand    *rand.Rand
	at      time.Duration // when it acts next
	acted   int           // times
	down    bool
}

// Underway is a Behaviour that has begun.
type Underway struct {
	cancel context.CancelFunc
	wg     sync.WaitGroup
	units  []*Unit // belong to the goroutine until it has ended
}

// Start lets the units of a behaviour act on a goroutine of their own, until ctx is done or
// End is called. The offset keeps two behaviours from acting at one instant.
func (b *Behaviour) Start(ctx context.Context, seed int64, groups []Group, f *nodesim.Fleet, offset time.Duration) *Underway {
	u := &Underway{units: b.choose(seed, groups)}
	ctx, u.cancel = context.WithCancel(ctx)
	u.wg.Go(func() { u.run(ctx, b.Routine, f, offset) })
	return u
}

// End ends the behaviour and leaves the clients as they are.
func (u *Underway) End() {
	u.cancel()
	u.wg.Wait()
}

// Silenced calls fn with the clients of each unit that is silent. The behaviour must have
// ended.
func (u *Underway) Silenced(fn func(clients []int)) {
	for _, unit := range u.units {
		if unit.down {
			fn(unit.clients)
		}
	}
}

// before orders units by when they act next, and by number at one instant.
func before(a, b *Unit) bool {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.number, b.number)) < 0
}

// run lets the units act until ctx is done or none has anything left to do.
func (u *Underway) run(ctx context.Context, routine Routine, f *nodesim.Fleet, offset time.Duration) {
	start := time.Now().Add(offset)
	due := heap.Heap[*Unit]{Before: before}
	for _, unit := range u.units {
		if at, ok := routine.Begin(unit.number, unit.rand); ok {
			unit.at = at
			due.Push(unit)
		}
	}
	for due.Len() > 0 {
		unit := due.Items[0]
		select {
		case <-time.After(time.Until(start.Add(unit.at))):
		case <-ctx.Done():
			return
		}
		wait, again := routine.Act(f, unit)
		unit.acted++
		if !again {
			due.Pop()
			continue
		}
		unit.at += max(wait, time.Millisecond) // so that time goes on
		due.Fix(0)
	}
}
