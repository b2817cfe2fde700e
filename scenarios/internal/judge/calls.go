package judge

import (
	"fmt"
	"sync"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/internal/english"
)

// Calls judges that a call is carried out once at most, whatever becomes of its answer: whoever hears
// none may call again, but nobody may on his behalf. The account of the log does not say so much:
// a server that carries out a call twice has two causes for two entries. The zero value has seen
// none. It is safe for concurrent use.
type Calls struct {
	mu    sync.Mutex
	seen  map[uint64]bool
	twice int
	first string
}

// See takes note that a server does what a call asks for; see cluster.Config.CarriedOut.
func (c *Calls) See(call uint64, method string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil {
		c.seen = map[uint64]bool{}
	}
	if c.seen[call] {
		if c.twice++; c.twice == 1 {
			c.first = fmt.Sprintf("call %d, %s", call, method)
		}
	}
	c.seen[call] = true
}

// Verdict returns what the calls say.
func (c *Calls) Verdict() metrics.Invariant {
	c.mu.Lock()
	defer c.mu.Unlock()
	detail := english.Plural(len(c.seen), "call")
	if c.twice > 0 {
		detail += fmt.Sprintf("; %s carried out again, the first: %s", english.Agree(c.twice, "was", "were"), c.first)
	}
	return verdict(InvariantCalls, c.twice == 0, "%s", detail)
}
