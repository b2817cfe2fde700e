package fsm

import (
	"sync"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/state"
)

// Results shares between the servers of a run what applying an entry leads to. In Raft an
// index and a term name one entry and everything before it (Log Matching), so that the
// states of all servers that have applied it are equal: the first server works it out, and
// the others adopt its state, which is immutable. The zero value is ready; it is safe for
// concurrent use.
type Results struct {
	// Servers is the number of servers. A result that all of them have is forgotten.
	Servers int
	// Independent makes every server decode and apply every entry for itself.
	Independent bool

	mu      sync.Mutex
	byIndex map[uint64]*Result
	oldest  uint64            // no result has a lower index
	lent    map[*byte]Command // by the first byte of what they are in the log
}

// Lend tells what an entry on its way to the log says, until Return, so that nobody has to decode it. What the command
// carries must not be written to meanwhile.
func (r *Results) Lend(data []byte, c Command) {
	if kinds[c.Type].copied == nil || r.Independent {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.lent == nil {
		r.lent = map[*byte]Command{}
	}
	r.lent[&data[0]] = c
}

// Return ends Lend.
func (r *Results) Return(data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.lent, &data[0])
}

// maxResults bounds the results that are kept for servers which are behind, or do not run.
const maxResults = 1024

// Result is what applying an entry leads to.
type Result struct {
	index, term uint64
	command     Command
	takers      int // servers that have asked for it; guarded by Results.mu

	once    sync.Once
	state   *state.Snapshot
	effects *Effects
	err     error
}

// Of returns the result of an entry, for one server. The error is that of Decode.
func (r *Results) Of(l *raft.Log) (*Result, error) {
	if r.Independent {
		command, err := Decode(l.Data)
		return newResult(l, command), err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	known := r.byIndex[l.Index]
	if known == nil || known.term != l.Term {
		command, err := r.command(l.Data)
		if err != nil {
			return nil, err
		}
		known = newResult(l, command)
		r.keep(known)
	}
	if known.takers++; known.takers == r.Servers {
		delete(r.byIndex, l.Index)
	}
	return known, nil
}

// command returns a command that belongs to whoever applies it.
func (r *Results) command(data []byte) (Command, error) {
	if len(data) > 0 {
		if c, ok := r.lent[&data[0]]; ok {
			return Command{c.Type, kinds[c.Type].copied(c.req)}, nil
		}
	}
	return Decode(data)
}

func newResult(l *raft.Log, c Command) *Result {
	return &Result{index: l.Index, term: l.Term, command: c}
}

func (r *Results) keep(one *Result) {
	if r.byIndex == nil {
		r.byIndex = map[uint64]*Result{}
	}
	if len(r.byIndex) == 0 || one.index < r.oldest {
		r.oldest = one.index
	}
	r.byIndex[one.index] = one
	for len(r.byIndex) > maxResults {
		delete(r.byIndex, r.oldest)
		r.oldest++
	}
}

// Cost is that of the command.
func (r *Result) Cost(costs config.FSMCosts, store *state.Store) config.Work {
	return r.command.Cost(costs, store)
}

// Apply makes a store whose last entry is the one before this one the state after it, and
// returns what others are to hear of the entry. After an error the store is as it was.
func (r *Result) Apply(store *state.Store) (*Effects, error) {
	first := false
	r.once.Do(func() {
		first = true
		if r.effects, r.err = r.command.Apply(store, r.index); r.err == nil {
			r.state = store.Snapshot()
		}
	})
	if !first && r.err == nil {
		store.Adopt(r.state)
	}
	return r.effects, r.err
}
