package simnet

import (
	"slices"
	"sync"
	"time"
)

// Turns is longer than the turns of all servers of a cluster, of which there are up to 15.
const Turns = 16 * time.Nanosecond

// instants remembers when goroutines of Raft go on. Each draws its next timeout then, and all
// servers of a process draw from one source: of two that meet at an instant, the runtime would
// choose the first (docs/adr/0600). An instant is taken before it comes, so the order of taking
// does not depend on the runtime, either.
type instants struct {
	mu    sync.Mutex
	taken []int64 // in Unix nanoseconds
}

// take returns how long a goroutine has to sleep that is to go on after wait: for longer, by
// whole steps, if others go on at that instant. If it rests from then on, and draws after that, it takes that instant, too.
func (i *instants) take(wait, step time.Duration, rest ...time.Duration) time.Duration {
	i.mu.Lock()
	defer i.mu.Unlock()
	now := time.Now().UnixNano()
	i.taken = slices.DeleteFunc(i.taken, func(at int64) bool { return at < now })
	for {
		takes := []int64{now + int64(wait)}
		for _, d := range rest {
			takes = append(takes, now+int64(wait+d))
		}
		if !slices.ContainsFunc(takes, func(at int64) bool { return slices.Contains(i.taken, at) }) {
			i.taken = append(i.taken, takes...)
			return wait
		}
		wait += step
	}
}

// await returns at an instant that nobody has taken: at once, as a rule.
func (i *instants) await(rest ...time.Duration) { time.Sleep(i.take(0, time.Nanosecond, rest...)) }
