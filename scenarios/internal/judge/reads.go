package judge

import (
	"fmt"
	"sync"

	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/internal/english"
)

// Names of the invariants of runs that are looked at thoroughly.
const (
	InvariantReads  = "no read goes back in time"
	InvariantHeld   = "a state that somebody holds stays as it is"
	InvariantCalls  = "no call is carried out twice"
	InvariantOnce   = "no server applies an entry twice"
	InvariantEvents = "every event is in the digest"
)

// Read is what one client read from one server.
type Read struct {
	Client, Server int
	// Stale says that the server answered from its own state, whoever leads.
	Stale bool
	// Life is the store of the process that was asked. A server that starts again may be behind
	// what it was, and answers stale reads from there.
	Life *state.Store
	// SetBack is how often a snapshot of the leader's had led the process back: Raft installs one
	// whatever the follower has applied.
	SetBack int
	// Acked is the highest index of a write that anybody was told of when the read began.
	Acked uint64
	Index uint64
}

// Reads judges reads in the order in which they end. A consistent read sees every write that was
// acknowledged before it began, and no client's goes behind the one before, whichever servers it
// asks. A stale one may be behind all that, but of one process it does not go behind the client's
// last, unless a snapshot of the leader's led the process back in between. The zero value has seen none. It is safe for concurrent use.
type Reads struct {
	mu                sync.Mutex
	consistent        map[int]uint64 // by client
	stale             map[staleRead]uint64
	reads, held       int
	back, changed     int
	firstBack, change string
}

type staleRead struct {
	client  int
	life    *state.Store
	setBack int
}

// See takes a read.
func (r *Reads) See(read Read) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.consistent == nil {
		r.consistent, r.stale = map[int]uint64{}, map[staleRead]uint64{}
	}
	r.reads++
	if read.Stale {
		key := staleRead{read.Client, read.Life, read.SetBack}
		if before := r.stale[key]; read.Index < before {
			r.goesBack("client %d read index %d from server %d, and later %d from the same process", read.Client, before, read.Server+1, read.Index)
		}
		r.stale[key] = max(r.stale[key], read.Index)
		return
	}
	if read.Index < read.Acked {
		r.goesBack("client %d read index %d through server %d, although a write at %d had been acknowledged", read.Client, read.Index, read.Server+1, read.Acked)
	} else if before := r.consistent[read.Client]; read.Index < before {
		r.goesBack("client %d read index %d, and later %d through server %d", read.Client, before, read.Index, read.Server+1)
	}
	r.consistent[read.Client] = max(r.consistent[read.Client], read.Index)
}

func (r *Reads) goesBack(format string, args ...any) {
	if r.back++; r.back == 1 {
		r.firstBack = fmt.Sprintf(format, args...)
	}
}

// Held takes a state that a slow reader has held for a while, and what it was at first.
func (r *Reads) Held(snap *state.Snapshot, print string) {
	now := snap.Fingerprint()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held++; now != print {
		if r.changed++; r.changed == 1 {
			r.change = fmt.Sprintf("the state of index %d had fingerprint %.12s, and later %.12s", snap.Index(), print, now)
		}
	}
}

// Verdicts returns what the reads say.
func (r *Reads) Verdicts() []metrics.Invariant {
	r.mu.Lock()
	defer r.mu.Unlock()
	back, held := english.Plural(r.reads, "read"), fmt.Sprintf("%d held", r.held)
	if r.back > 0 {
		back += fmt.Sprintf("; %s back, the first: %s", english.Agree(r.back, "goes", "go"), r.firstBack)
	}
	if r.changed > 0 {
		held += fmt.Sprintf("; %d changed, the first: %s", r.changed, r.change)
	}
	return []metrics.Invariant{verdict(InvariantReads, r.back == 0, "%s", back), verdict(InvariantHeld, r.changed == 0, "%s", held)}
}
