package raftnode

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/cluster/internal/fsm"
)

// What Raft promises, checked from outside at the end of a run: in Raft an index and a term
// name one entry, so that terms are all that has to be remembered of what was agreed.

// Acked remembers which entries callers were told are written: their terms by index. The
// zero value is ready; it is safe for concurrent use.
type Acked struct {
	mu    sync.Mutex
	terms []uint32 // zero: nobody was told of this one
	count int
}

// Note takes note that a caller was told of an entry.
func (a *Acked) Note(index uint64, term uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := int(index) + 1 - len(a.terms); n > 0 {
		a.terms = slices.Grow(a.terms, n)[:index+1]
	}
	a.terms[index] = term
	a.count++
}

// Highest returns the highest index that a caller was told of; zero if nobody was told of any.
func (a *Acked) Highest() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return uint64(max(len(a.terms)-1, 0))
}

// Agreement is what Check found.
type Agreement struct {
	// UpTo is the index that every server has applied: agreement is demanded up to it.
	UpTo uint64
	// Acked is the number of writes that a caller was told of.
	Acked int
	// Logs and Lost say what is wrong; nil when nothing is. Logs: two servers hold different
	// entries at one index. Lost: an acknowledged write is not in some server's log.
	Logs, Lost error
}

// Member is the log of one server of a cluster.
type Member struct {
	Addr    string
	Logs    *LogStore
	Running bool
	Applied uint64 // the index up to which a running server has applied its log
}

// Check compares logs with each other and with what was acknowledged: see cluster.CheckLogs.
func Check(members []Member, acked *Acked) Agreement {
	var a Agreement
	first := true
	terms := make([][]uint32, len(members))
	for _, m := range members {
		if m.Running && (first || m.Applied < a.UpTo) {
			a.UpTo, first = m.Applied, false
		}
	}
	for i, m := range members {
		terms[i] = m.Logs.termsUpTo(a.UpTo)
	}
	a.Logs = errors.Join(differentTerms(members, terms), differentData(members, a.UpTo))
	acked.mu.Lock()
	told := slices.Clone(acked.terms)
	a.Acked = acked.count
	acked.mu.Unlock()
	a.Lost = lost(members, told, terms, a.UpTo)
	return a
}

// lost returns an error for the first acknowledged write that a running server lacks.
func lost(members []Member, acked []uint32, terms [][]uint32, upTo uint64) error {
	if n := uint64(len(acked)); n > upTo+1 {
		return fmt.Errorf("entry %d was acknowledged, but some server has applied no more than %d", n-1, upTo)
	}
	for i, m := range members {
		if !m.Running {
			continue
		}
		for index, term := range acked {
			// A server that a snapshot brought up to date never had the entry in its log; that
			// its state is the others' is another check.
			if term == 0 || index >= len(terms[i]) || terms[i][index] == 0 {
				continue
			}
			if got := terms[i][index]; got != term {
				return fmt.Errorf("entry %d of term %d was acknowledged, but %s has one of term %d there", index, term, m.Addr, got)
			}
		}
	}
	return nil
}

// differentTerms returns an error for the first index at which two servers stored entries
// of different terms.
func differentTerms(members []Member, terms [][]uint32) error {
	first := map[int]int{} // the server that an index is compared with, where it is not 0
	for i, of := range terms {
		for index, term := range of {
			if term == 0 {
				continue
			}
			with := first[index]
			if with == 0 && (len(terms[0]) <= index || terms[0][index] == 0) {
				first[index] = i
				continue
			}
			if want := terms[with][index]; want != term {
				return fmt.Errorf("entry %d is of term %d on %s and of term %d on %s", index, want, members[with].Addr, term, members[i].Addr)
			}
		}
	}
	return nil
}

// differentData returns an error for the first entry that two logs hold differently. All
// are compared with the log that reaches furthest and, of those, back furthest; one that a
// snapshot brought up to date may end where the others no longer begin.
func differentData(members []Member, upTo uint64) error {
	longest := 0
	first, last := make([]uint64, len(members)), make([]uint64, len(members))
	for i, m := range members {
		var err error
		if first[i], last[i], err = bounds(m.Logs); err != nil {
			return fmt.Errorf("%s: %w", m.Addr, err)
		}
		last[i] = min(last[i], upTo)
		if last[i] > last[longest] || last[i] == last[longest] && first[i] < first[longest] {
			longest = i
		}
	}
	for i, m := range members {
		if i == longest {
			continue
		}
		if err := sameData(members[longest].Logs, m.Logs, max(first[longest], first[i]), min(last[longest], last[i])); err != nil {
			return fmt.Errorf("%s and %s: %w", members[longest].Addr, m.Addr, err)
		}
	}
	return nil
}

// bounds returns the first and the last index that a log holds; the last is below the
// first if it holds none, or is on the disk of a server that is stopped.
func bounds(l *LogStore) (first, last uint64, err error) {
	if l.closed.Load() {
		return 1, 0, nil
	}
	first, err = l.FirstIndex()
	if err == nil {
		last, err = l.LastIndex()
	}
	if err != nil {
		return 0, 0, fmt.Errorf("read the bounds of the log: %w", err)
	}
	return max(first, 1), last, nil
}

// sameData compares the entries with from ≤ index ≤ to that both logs still hold.
func sameData(a, b *LogStore, from, to uint64) error {
	var x, y raft.Log
	for i := from; i <= to; i++ {
		if shared := sharedUntil(a.LogStore, b.LogStore, i); shared > i {
			i = shared - 1
			continue
		}
		if a.Term(i) == 0 || b.Term(i) == 0 {
			continue // a snapshot took its place
		}
		err := errors.Join(a.GetLog(i, &x), b.GetLog(i, &y))
		if errors.Is(err, raft.ErrLogNotFound) {
			continue // a snapshot that came from the leader leaves a gap
		}
		if err != nil {
			return fmt.Errorf("read entry %d: %w", i, err)
		}
		if x.Type != y.Type || !bytes.Equal(x.Data, y.Data) {
			return fmt.Errorf("entry %d is %v of %d bytes and %v of %d bytes", i, fsm.TypeOf(&x), len(x.Data), fsm.TypeOf(&y), len(y.Data))
		}
	}
	return nil
}
