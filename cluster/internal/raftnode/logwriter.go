package raftnode

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/cluster/simnet"
)

// logWriter is the leader's disk in front of Raft: entries wait for a write to the log
// before Raft sees them, and those that arrive during a write share the next one, as
// Raft's own leader loop groups them (raft.go, leaderLoop). It stands in front of
// Raft rather than inside its log store because Raft's main goroutine must never
// sleep: it would find several channels ready at once afterwards and choose among them
// at random, and no run would repeat.
type logWriter struct {
	raft  *raft.Raft
	write func(entries [][]byte) // takes as long as writing entries together does

	// slots holds one for every entry handed to Raft and not yet applied. Raft's main
	// goroutine blocks on a state machine that is 128 batches behind, and afterwards finds
	// several channels ready, as it would after a sleep.
	slots chan struct{}

	coin *rand.Rand // of run
	last time.Time  // when run gave Raft an entry

	mu      sync.Mutex
	began   time.Time     // when Raft's main goroutine began to write; zero if it does not
	between chan struct{} // closed when it has time for something else
	waiting []*pendingEntry
	sorted  int // so many of these, from the first, are in their order
	closed  bool
	wake    chan struct{}
	stop    chan struct{}
	done    chan struct{}
}

// pendingEntry is a command on its way into the log.
type pendingEntry struct {
	data   []byte
	at     time.Time // when it arrived
	handed chan raft.ApplyFuture
}

// maxUnapplied is below the 128 batches, of one entry at least, of Raft's queue to the
// state machine (raft api.go, fsmMutateCh).
const maxUnapplied = 100

// maxGroup is how many entries share a write at most (raft, Config.MaxAppendEntries).
const maxGroup = 64

func newLogWriter(r *raft.Raft, seed int64, write func(entries [][]byte)) *logWriter {
	w := &logWriter{
		raft: r, write: write, slots: make(chan struct{}, maxUnapplied), coin: rand.New(rand.NewPCG(uint64(seed), 0)), between: make(chan struct{}),
		wake: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	go w.run()
	return w
}

// apply queues one command. The future is received when the entry was written and
// handed to Raft; the channel is closed without one when the writer stopped.
func (w *logWriter) apply(data []byte) <-chan raft.ApplyFuture {
	e := &pendingEntry{data: data, at: time.Now(), handed: make(chan raft.ApplyFuture, 1)}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		close(e.handed)
		return e.handed
	}
	w.waiting = append(w.waiting, e)
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
	return e.handed
}

// applied frees the place of an entry whose future is settled.
func (w *logWriter) applied() { <-w.slots }

// halt stops the writer at this instant. It drops the entries that Raft does not have yet,
// and all later ones. It must be called once.
func (w *logWriter) halt() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	close(w.stop)
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.waiting {
		close(e.handed)
	}
	w.waiting, w.sorted = nil, 0
}

// wait returns when a writer that was halted is gone.
func (w *logWriter) wait() { <-w.done }

func (w *logWriter) halted() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.closed
}

// take returns what arrived before now and may share a write, in the order of arrival. Entries
// of one instant are in the order of their bytes, and not in that in which the runtime ran those
// who wrote them.
func (w *logWriter) take(now time.Time) []*pendingEntry {
	w.mu.Lock()
	defer w.mu.Unlock()
	early := w.sorted
	for early < len(w.waiting) && w.waiting[early].at.Before(now) {
		early++
	}
	slices.SortStableFunc(w.waiting[w.sorted:early], func(a, b *pendingEntry) int {
		return cmp.Or(a.at.Compare(b.at), bytes.Compare(a.data, b.data))
	})
	n := min(early, maxGroup)
	batch := slices.Clone(w.waiting[:n])
	clear(w.waiting[:n]) // what is appended may go into the same array for long
	w.waiting, w.sorted = w.waiting[n:], early-n
	return batch
}

// someWait reports whether entries wait, if only since this instant.
func (w *logWriter) someWait() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.waiting) > 0
}

// idle waits until Raft's main goroutine does not write.
func (w *logWriter) idle() {
	now := time.Now()
	time.Sleep(time.Nanosecond) // until a write that begins now has begun
	w.mu.Lock()
	busy, between := !w.began.IsZero() && !w.began.After(now), w.between
	w.mu.Unlock()
	if busy {
		select {
		case <-between:
		case <-w.stop:
		}
	}
}

// writes notes that a write begins.
func (w *logWriter) writes() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.began.IsZero() {
		w.began = time.Now()
	}
}

// wrote notes that so many entries are written. If more wait, Raft's main goroutine may write again before it commits: it
// chooses at random. It commits first if the state machine has no room for what was written.
func (w *logWriter) wrote(entries int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	more := len(w.waiting) > 0 && w.waiting[0].at.Before(time.Now())
	if more && len(w.slots)+entries <= cap(w.slots) && w.coin.IntN(2) == 0 {
		return
	}
	w.began = time.Time{}
	close(w.between)
	w.between = make(chan struct{})
}

func (w *logWriter) run() {
	defer close(w.done)
	for {
		select {
		case <-w.stop:
			return
		case <-w.wake:
		}
		for w.someWait() {
			// Until nothing more can arrive at the instant before, and until Raft and its replication have taken in the
			// last entry.
			time.Sleep(max(0, time.Until(w.last.Add(simnet.Turns))) + time.Nanosecond)
			w.hand(w.take(time.Now()))
		}
	}
}

// hand writes entries together, and then gives them to Raft one by one. Before that it waits until Raft has room for all
// of them. If it gave Raft each entry as soon as a place is free, followers would write each by itself, fall behind,
// and so keep the places taken.
func (w *logWriter) hand(batch []*pendingEntry) {
	if len(batch) == 0 {
		return
	}
	entries := make([][]byte, 0, len(batch))
	for _, e := range batch {
		entries = append(entries, e.data)
	}
	w.writes()
	w.write(entries)
	w.wrote(len(batch))
	for range batch {
		if w.halted() { // looked at first: with a slot free, either would be taken
			break
		}
		select {
		case w.slots <- struct{}{}:
		case <-w.stop:
		}
	}
	for i, e := range batch {
		// One entry an instant: Raft and its replication have taken it in before the
		// next one comes, so how many share a batch does not depend on the runtime.
		// Followers store together what they get so (simnet, pipeline).
		if i > 0 {
			time.Sleep(simnet.Turns)
		}
		if w.halted() {
			close(e.handed)
			continue
		}
		e.handed <- w.raft.Apply(e.data, 0)
		w.last = time.Now()
	}
}
