package leader

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/fsm"
)

// Batcher gathers requests that share a key for a while and writes them as one.
type Batcher[T any] struct {
	window time.Duration
	merge  func(all *T, one T)
	write  func(T) (index uint64, err error)

	mu     sync.Mutex
	next   map[string]*Batch[T]
	timers timers
}

// NewBatcher returns a batcher that merges what comes within a window of a key's first request,
// and then calls write on a goroutine of its own. Requests join in the order in which the
// runtime ran their senders: write must sort them, so that equal batches are equal entries.
func NewBatcher[T any](window time.Duration, merge func(all *T, one T), write func(T) (uint64, error)) *Batcher[T] {
	return &Batcher[T]{window: window, merge: merge, write: write, next: map[string]*Batch[T]{}}
}

// Batch is requests on their way.
type Batch[T any] struct {
	req   T
	timer *time.Timer

	written chan struct{} // closed when the fields below are set
	index   uint64
	err     error
}

// Wait returns what became of the batch.
func (b *Batch[T]) Wait() (index uint64, err error) {
	<-b.written
	return b.index, b.err
}

// errNotLeading answers what waits for a leader's watcher that has stopped.
var errNotLeading = errors.New("server does not lead any more")

// Add puts a request into the batch being gathered under a key and returns that.
func (b *Batcher[T]) Add(key string, req T) *Batch[T] {
	b.mu.Lock()
	defer b.mu.Unlock()
	batch := b.next[key]
	if batch == nil {
		batch = &Batch[T]{written: make(chan struct{})}
		b.next[key] = batch
		batch.timer = b.timers.after(b.window, func() { b.flush(key, batch) })
	}
	b.merge(&batch.req, req)
	return batch
}

func (b *Batcher[T]) flush(key string, batch *Batch[T]) {
	b.mu.Lock()
	if b.next[key] == batch {
		delete(b.next, key)
	}
	b.mu.Unlock()
	batch.index, batch.err = b.write(batch.req)
	close(batch.written)
}

// Stop drops the batches being gathered and waits for those that are being written.
func (b *Batcher[T]) Stop() {
	b.mu.Lock()
	for key, batch := range b.next {
		if b.timers.disarm(batch.timer) {
			delete(b.next, key)
			batch.err = errNotLeading
			close(batch.written)
		}
	}
	b.mu.Unlock()
	b.timers.Wait()
}

// Wait returns when every batch is written.
func (b *Batcher[T]) Wait() { b.timers.Wait() }

// newTransitions returns the batcher of what a watcher asks of schedulers about allocations,
// with the evaluations that make them look (nomad/deploymentwatcher/batcher.go,
// nomad/drainer/drainer.go). Of two evaluations of a job the later stays.
func newTransitions(l Log, window time.Duration) *Batcher[fsm.DesiredTransitionRequest] {
	merge := func(all *fsm.DesiredTransitionRequest, one fsm.DesiredTransitionRequest) {
		all.Migrate = append(all.Migrate, one.Migrate...)
		all.Reschedule = append(all.Reschedule, one.Reschedule...)
		for _, e := range one.Evals {
			all.Evals = slices.DeleteFunc(all.Evals, func(old *broker.Evaluation) bool { return old.Job() == e.Job() })
			all.Evals = append(all.Evals, e)
		}
	}
	return NewBatcher(window, merge, func(r fsm.DesiredTransitionRequest) (uint64, error) { return requestTransitions(l, r) })
}

// idsPerTransition bounds how many allocations and evaluations an entry names (nomad/drainer/drainer_util.go,
// defaultMaxIdsPerTxn).
const idsPerTransition = 7281

// requestTransitions writes a request, in several entries if it is long. The evaluations come last
// (partitionAllocDrain).
func requestTransitions(l Log, req fsm.DesiredTransitionRequest) (index uint64, err error) {
	slices.Sort(req.Migrate)
	slices.Sort(req.Reschedule)
	req.Migrate, req.Reschedule = slices.Compact(req.Migrate), slices.Compact(req.Reschedule)
	slices.SortFunc(req.Evals, func(a, c *broker.Evaluation) int { return strings.Compare(a.ID, c.ID) })
	for err == nil && len(req.Migrate)+len(req.Reschedule)+len(req.Evals) > 0 {
		moved := min(len(req.Migrate), idsPerTransition)
		told := min(len(req.Evals), idsPerTransition-moved)
		part := fsm.DesiredTransitionRequest{Migrate: req.Migrate[:moved], Reschedule: req.Reschedule, Evals: req.Evals[:told]}
		req.Migrate, req.Reschedule, req.Evals = req.Migrate[moved:], nil, req.Evals[told:]
		l.Because(fsm.TransitionsAsked)
		index, err = l.Write(fsm.AllocUpdateDesiredTransition.With(&part))
	}
	return index, err
}
