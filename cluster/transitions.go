package cluster

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/simctl/simctl/broker"
)

// transitionBatcher gathers what the leader's watchers ask of schedulers about
// allocations for a while, and writes it with the evaluations that make them look in one
// entry (nomad/deploymentwatcher/batcher.go, nomad/drainer/drainer.go). The zero value
// with srv and window set is ready; it works only while the server leads.
type transitionBatcher struct {
	srv    *server
	window time.Duration

	mu   sync.Mutex
	next *transitionBatch
	wg   sync.WaitGroup
}

type transitionBatch struct {
	req   desiredTransitionRequest
	timer *time.Timer

	written chan struct{} // closed when the fields below are set
	index   uint64
	err     error
}

// errNotLeading answers what waits for a leader's watcher that has stopped.
var errNotLeading = errors.New("server does not lead any more")

// add puts a request into the batch being gathered and returns that. Of two evaluations
// of a job the later stays.
func (b *transitionBatcher) add(req desiredTransitionRequest) *transitionBatch {
	b.mu.Lock()
	defer b.mu.Unlock()
	batch := b.next
	if batch == nil {
		batch = &transitionBatch{written: make(chan struct{})}
		b.next = batch
		b.wg.Add(1)
		batch.timer = time.AfterFunc(b.window, func() {
			defer b.wg.Done()
			b.flush(batch)
		})
	}
	batch.req.Migrate = append(batch.req.Migrate, req.Migrate...)
	batch.req.Reschedule = append(batch.req.Reschedule, req.Reschedule...)
	for _, e := range req.Evals {
		batch.req.Evals = slices.DeleteFunc(batch.req.Evals, func(old *broker.Evaluation) bool { return old.Job() == e.Job() })
		batch.req.Evals = append(batch.req.Evals, e)
	}
	return batch
}

func (b *transitionBatcher) flush(batch *transitionBatch) {
	b.mu.Lock()
	if b.next == batch {
		b.next = nil
	}
	b.mu.Unlock()
	batch.index, batch.err = b.srv.requestTransitions(batch.req)
	close(batch.written)
}

// stop drops the batch being gathered and waits for one that is being written.
func (b *transitionBatcher) stop() {
	b.mu.Lock()
	if batch := b.next; batch != nil && batch.timer.Stop() {
		b.next = nil
		batch.err = errNotLeading
		close(batch.written)
		b.wg.Done()
	}
	b.mu.Unlock()
	b.wg.Wait()
}

// requestTransitions writes a request as one entry. What joined a batch in the order the
// runtime ran its senders is sorted, so that equal batches are equal entries.
func (s *server) requestTransitions(req desiredTransitionRequest) (uint64, error) {
	slices.Sort(req.Migrate)
	slices.Sort(req.Reschedule)
	req.Migrate, req.Reschedule = slices.Compact(req.Migrate), slices.Compact(req.Reschedule)
	slices.SortFunc(req.Evals, func(a, c *broker.Evaluation) int { return strings.Compare(a.ID, c.ID) })
	s.happened(func(c *Causes) { c.Transitions++ })
	return s.raftApply(allocUpdateDesiredTransitionRequestType, &req)
}
