package cluster

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/hashicorp/raft"
)

// What Raft promises, checked from outside at the end of a run: in Raft an index and a term
// name one entry, so that terms are all that has to be remembered of what was agreed.

// ackedWrites are the entries that callers were told are written: their terms by index.
type ackedWrites struct {
	mu    sync.Mutex
	terms []uint32 // zero: nobody was told of this one
	count int
}

func (a *ackedWrites) note(index uint64, term uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if n := int(index) + 1 - len(a.terms); n > 0 {
		a.terms = slices.Grow(a.terms, n)[:index+1]
	}
	a.terms[index] = term
	a.count++
}

// Agreement is what CheckLogs found.
type Agreement struct {
	// UpTo is the index that every server has applied: agreement is demanded up to it.
	UpTo uint64
	// Acked is the number of writes that a caller was told of.
	Acked int
	// Logs and Lost say what is wrong; nil when nothing is. Logs: two servers hold different
	// entries at one index. Lost: an acknowledged write is not in some server's log.
	Logs, Lost error
}

// CheckLogs compares the Raft logs of all servers, stopped ones included, with each other
// and with the writes that were acknowledged, as far as every running server has applied
// them. What a snapshot has removed from a log is compared by term only, and so is the log
// of a stopped server that is on disk.
func (c *Cluster) CheckLogs() Agreement {
	var a Agreement
	first := true
	for i := range c.cfg.Servers {
		if s := c.server(i); s != nil {
			if at := s.raft.AppliedIndex(); first || at < a.UpTo {
				a.UpTo, first = at, false
			}
		}
	}
	var logs []*logStore
	c.mu.Lock()
	for _, s := range c.servers {
		logs = append(logs, s.logs)
	}
	c.mu.Unlock()
	terms := make([][]uint32, len(logs))
	for i, l := range logs {
		terms[i] = l.termsUpTo(a.UpTo)
	}
	a.Logs = errors.Join(differentTerms(terms), differentData(logs, a.UpTo))
	c.acked.mu.Lock()
	acked := slices.Clone(c.acked.terms)
	a.Acked = c.acked.count
	c.acked.mu.Unlock()
	a.Lost = c.lost(acked, terms, a.UpTo)
	return a
}

// lost returns an error for the first acknowledged write that a running server lacks.
func (c *Cluster) lost(acked []uint32, terms [][]uint32, upTo uint64) error {
	if n := uint64(len(acked)); n > upTo+1 {
		return fmt.Errorf("entry %d was acknowledged, but some server has applied no more than %d", n-1, upTo)
	}
	for i := range terms {
		if c.server(i) == nil {
			continue
		}
		for index, term := range acked {
			// A server that a snapshot brought up to date never had the entry in its log; that
			// its state is the others' is another check.
			if term == 0 || index >= len(terms[i]) || terms[i][index] == 0 {
				continue
			}
			if got := terms[i][index]; got != term {
				return fmt.Errorf("entry %d of term %d was acknowledged, but %s has one of term %d there", index, term, c.Addr(i), got)
			}
		}
	}
	return nil
}

// differentTerms returns an error for the first index at which two servers stored entries
// of different terms.
func differentTerms(terms [][]uint32) error {
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
				return fmt.Errorf("entry %d is of term %d on %s and of term %d on %s", index, want, serverAddr(with), term, serverAddr(i))
			}
		}
	}
	return nil
}

// differentData returns an error for the first entry that two logs hold differently. All
// are compared with the log that reaches furthest and, of those, back furthest; one that a
// snapshot brought up to date may end where the others no longer begin.
func differentData(logs []*logStore, upTo uint64) error {
	reference, from, to := 0, uint64(0), uint64(0)
	for i, l := range logs {
		first, last, err := bounds(l)
		if err != nil {
			return fmt.Errorf("%s: %w", serverAddr(i), err)
		}
		if last = min(last, upTo); last > to || last == to && first < from {
			reference, from, to = i, first, last
		}
	}
	for i, l := range logs {
		if i == reference {
			continue
		}
		if err := sameData(logs[reference], l, upTo); err != nil {
			return fmt.Errorf("%s and %s: %w", serverAddr(reference), serverAddr(i), err)
		}
	}
	return nil
}

// bounds returns the first and the last index that a log holds; the last is below the
// first if it holds none, or is on the disk of a server that is stopped.
func bounds(l *logStore) (first, last uint64, err error) {
	if !l.readable() {
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

// sameData compares what both logs still hold.
func sameData(a, b *logStore, upTo uint64) error {
	aFirst, aLast, err := bounds(a)
	if err != nil {
		return err
	}
	bFirst, bLast, err := bounds(b)
	if err != nil {
		return err
	}
	var x, y raft.Log
	for i := max(aFirst, bFirst); i <= min(aLast, bLast, upTo); i++ {
		if a.term(i) == 0 || b.term(i) == 0 {
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
			return fmt.Errorf("entry %d is %v of %d bytes and %v of %d bytes", i, typeOf(&x), len(x.Data), typeOf(&y), len(y.Data))
		}
	}
	return nil
}
