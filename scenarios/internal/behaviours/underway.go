package behaviours

import (
	"container/heap"
	"context"
	"math/rand/v2"
	"sync"
	"time"

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

// run lets the units act until ctx is done or none has anything left to do.
func (u *Underway) run(ctx context.Context, routine Routine, f *nodesim.Fleet, offset time.Duration) {
	start := time.Now().Add(offset)
	var due agenda
	for _, unit := range u.units {
		if at, ok := routine.Begin(unit.number, unit.rand); ok {
			unit.at = at
			due = append(due, unit)
		}
	}
	heap.Init(&due)
	for len(due) > 0 {
		unit := due[0]
		timer := time.NewTimer(time.Until(start.Add(unit.at)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		wait, again := routine.Act(f, unit)
		unit.acted++
		if !again {
			heap.Pop(&due)
			continue
		}
		unit.at += max(wait, time.Millisecond) // so that time goes on
		heap.Fix(&due, 0)
	}
}

// agenda orders units by when they act next, and by number at one instant.
type agenda []*Unit

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	if a[i].at != a[j].at {
		return a[i].at < a[j].at
	}
	return a[i].number < a[j].number
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(*Unit)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}
