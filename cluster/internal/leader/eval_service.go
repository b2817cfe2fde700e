package leader

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/broker/workqueue"
)

// EvalService makes the broker a blocking service on package time's clock: it owns the
// lock, the workers that wait for evaluations, and one timer at the broker's next
// deadline. It is safe for use by many goroutines. Its methods are those of
// broker.EvalBroker at the current time; timers due by then have fired before.
//
// Waiting workers are served first come, first served, by whoever makes an evaluation
// ready: which worker gets it does not depend on the goroutine scheduler, and no
// worker wakes up in vain.
type EvalService struct {
	// Wake is how long waiting calls take to wake up when an evaluation becomes ready. A call that comes meanwhile gets the
	// evaluation before them. Zero serves them at that instant.
	Wake time.Duration

	mu     sync.Mutex
	broker queue
	line   Line[evalWaiter]
	closed bool
	// awake is when waiting calls are awake; zero: nothing has woken them.
	awake time.Time

	// timer is armed for timerAt, at or before the broker's next deadline; nil: it is
	// not. It may be early, which costs a wake-up instead of a reset on every ack.
	timer   *time.Timer
	timerAt time.Time
	timers  timers
}

// queue is what gives work to workers: a broker.EvalBroker or a workqueue.Queue.
type queue interface {
	source
	SetEnabled(now time.Time, enabled bool)
	Enqueue(now time.Time, e *broker.Evaluation)
	EnqueueAll(now time.Time, evals []broker.EvalToken)
	Ack(now time.Time, evalID, token string) (broker.AckResult, error)
	Nack(now time.Time, evalID, token string) error
	OutstandingReset(now time.Time, evalID, token string) error
	PauseNackTimeout(now time.Time, evalID, token string) error
	ResumeNackTimeout(now time.Time, evalID, token string) error
	Cancelable(batch int) []*broker.Evaluation
	Cancel(evals []*broker.Evaluation)
	DropWaiting(evalID string) bool
	Queued(job broker.JobID) bool
	Stats() broker.Stats
	State() broker.State
	NextDeadline() (time.Time, bool)
	Advance(now time.Time) bool
}

// evalWaiter is a blocked Deliver, which has room for the one answer it gets.
type evalWaiter chan evalAnswer

type evalAnswer struct {
	delivery broker.Delivery
	err      error
}

// NewEvalService returns a service around a new, disabled broker. Close releases it.
func NewEvalService(cfg broker.Config) *EvalService {
	return &EvalService{broker: broker.New(cfg)}
}

// newJobService is NewEvalService around a queue of jobs.
func newJobService(cfg broker.Config) *EvalService {
	return &EvalService{broker: workqueue.New(cfg)}
}

// begin locks, and fires what is due, so that at one instant a timer always comes before
// a call and the outcome does not depend on which goroutine ran first.
func (s *EvalService) begin() time.Time {
	now := time.Now()
	s.mu.Lock()
	if !s.awake.IsZero() && !now.Before(s.awake) {
		s.awake = time.Time{}
		s.serve(now)
	}
	if s.broker.Advance(now) {
		s.rouse(now)
	}
	return now
}

// end serves waiters from what the call made ready, unless they must wake up first, sets the timer and unlocks.
func (s *EvalService) end(now time.Time) {
	if s.Wake == 0 || !s.broker.Enabled() {
		s.serve(now)
	}
	s.setTimer(now)
	s.mu.Unlock()
}

// rouse begins to wake waiting calls, if that takes time. Call it when an evaluation may have become ready.
func (s *EvalService) rouse(now time.Time) {
	if s.Wake > 0 && s.awake.IsZero() && s.broker.HasReady() {
		s.awake = now.Add(s.Wake)
	}
}

// serve answers the waiters that can be answered.
func (s *EvalService) serve(now time.Time) {
	s.line.Serve(s.broker, now, func(w evalWaiter, d broker.Delivery, err error) { w <- evalAnswer{d, err} })
}

// setTimer arms the timer unless it is armed for no later than the next deadline.
func (s *EvalService) setTimer(now time.Time) {
	next, ok := s.broker.NextDeadline()
	if !s.awake.IsZero() && (!ok || s.awake.Before(next)) {
		next, ok = s.awake, true
	}
	if !ok || s.closed || s.timer != nil && !next.Before(s.timerAt) {
		return
	}
	s.timers.disarm(s.timer)
	s.timerAt = next
	var armed *time.Timer
	armed = s.timers.after(next.Sub(now), func() {
		now := s.begin()
		if s.timer == armed {
			s.timer = nil
		}
		s.end(now)
	})
	s.timer = armed
}

// Close disables the broker, unblocks every waiter with broker.ErrDisabled and returns
// when the timer cannot fire any more. It may be called twice.
func (s *EvalService) Close() {
	now := s.begin()
	s.closed = true
	s.broker.SetEnabled(now, false)
	s.timers.disarm(s.timer)
	s.end(now)
	s.timers.Wait()
}

// SetEnabled enables the broker, or disables it: every evaluation is forgotten and every
// waiter returns broker.ErrDisabled. A closed service cannot be enabled.
func (s *EvalService) SetEnabled(enabled bool) {
	now := s.begin()
	s.broker.SetEnabled(now, enabled && !s.closed)
	s.end(now)
}

// Enabled reports whether the broker accepts evaluations.
func (s *EvalService) Enabled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broker.Enabled()
}

// Enqueue hands the broker an evaluation.
func (s *EvalService) Enqueue(e *broker.Evaluation) {
	now := s.begin()
	s.broker.Enqueue(now, e)
	s.rouse(now)
	s.end(now)
}

// EnqueueAll enqueues atomically: no waiter is served before all are in.
func (s *EvalService) EnqueueAll(evals []broker.EvalToken) {
	now := s.begin()
	s.broker.EnqueueAll(now, evals)
	s.rouse(now)
	s.end(now)
}

// DropWaiting has the broker forget an evaluation that waits for a time.
func (s *EvalService) DropWaiting(evalID string) {
	now := s.begin()
	s.broker.DropWaiting(evalID)
	s.end(now)
}

// Dequeue is Deliver without the details.
func (s *EvalService) Dequeue(ctx context.Context, schedulers []string, timeout time.Duration) (*broker.Evaluation, string, error) {
	d, err := s.Deliver(ctx, schedulers, timeout)
	return d.Eval, d.Token, err
}

// Deliver blocks until an evaluation for one of the scheduler types is ready and hands it
// out. After timeout it returns the zero Delivery; a timeout of zero or less means to
// wait without limit. It returns broker.ErrDisabled as soon as the broker is disabled,
// and ctx.Err() as soon as ctx ends, unless an evaluation was assigned to the caller
// already: that is returned, for otherwise it would be lost until its nack timer fires.
// The slice must not change while the call blocks.
func (s *EvalService) Deliver(ctx context.Context, schedulers []string, timeout time.Duration) (broker.Delivery, error) {
	if err := ctx.Err(); err != nil {
		return broker.Delivery{}, err
	}
	now := s.begin()
	if s.Wake == 0 {
		s.serve(now) // those who came first
	}
	d, err := s.broker.Deliver(now, schedulers)
	if d.Eval != nil || err != nil {
		s.end(now)
		return d, err
	}
	w := make(evalWaiter, 1)
	s.line.Join(w, schedulers)
	s.end(now)

	var expired <-chan time.Time
	if timeout > 0 {
		expired = time.After(timeout)
	}
	select {
	case a := <-w:
		return a.delivery, a.err
	case <-ctx.Done():
		return s.leave(w, ctx.Err())
	case <-expired:
		return s.leave(w, nil)
	}
}

// leave takes a waiter out of the queue; if it was answered meanwhile, the answer stands.
func (s *EvalService) leave(w evalWaiter, err error) (broker.Delivery, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.line.Leave(w) {
		return broker.Delivery{}, err
	}
	a := <-w // answered under the lock, so this does not block
	return a.delivery, a.err
}

// Ack ends a delivery with success; see broker.EvalBroker.Ack.
func (s *EvalService) Ack(evalID, token string) (broker.AckResult, error) {
	now := s.begin()
	defer s.end(now)
	res, err := s.broker.Ack(now, evalID, token)
	s.rouse(now)
	return res, err
}

// Nack ends a delivery without success; see broker.EvalBroker.Nack.
func (s *EvalService) Nack(evalID, token string) error {
	now := s.begin()
	defer s.end(now)
	err := s.broker.Nack(now, evalID, token)
	s.rouse(now)
	return err
}

// OutstandingReset restarts the nack timer of a delivery.
func (s *EvalService) OutstandingReset(evalID, token string) error {
	now := s.begin()
	defer s.end(now)
	return s.broker.OutstandingReset(now, evalID, token)
}

// PauseNackTimeout stops the nack timer of a delivery while its plan is queued.
func (s *EvalService) PauseNackTimeout(evalID, token string) error {
	now := s.begin()
	defer s.end(now)
	return s.broker.PauseNackTimeout(now, evalID, token)
}

// ResumeNackTimeout restarts the nack timer of a delivery from the beginning.
func (s *EvalService) ResumeNackTimeout(evalID, token string) error {
	now := s.begin()
	defer s.end(now)
	return s.broker.ResumeNackTimeout(now, evalID, token)
}

// Cancelable takes up to batch evaluations out of the cancelable ones.
func (s *EvalService) Cancelable(batch int) []*broker.Evaluation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broker.Cancelable(batch)
}

// Cancel makes evaluations cancelable; see broker.EvalBroker.Cancel.
func (s *EvalService) Cancel(evals []*broker.Evaluation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broker.Cancel(evals)
}

// Queued reports whether an evaluation of the job waits for a worker.
func (s *EvalService) Queued(job broker.JobID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.broker.Queued(job)
}

// Jobs returns the job of every evaluation that waits for a worker or a time, or that a worker
// has. A job comes as often as it has one.
func (s *EvalService) Jobs() (jobs []broker.JobID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	held := s.broker.State()
	for _, h := range slices.Concat(held.Ready, held.Unacked, held.Waiting, held.Pending) {
		jobs = append(jobs, h.Eval.Job())
	}
	return jobs
}

// Stats counts the evaluations the broker holds.
func (s *EvalService) Stats() broker.Stats {
	now := s.begin()
	defer s.end(now)
	return s.broker.Stats()
}
