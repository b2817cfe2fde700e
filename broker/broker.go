package broker

import (
	crand "crypto/rand"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"github.com/simctl/simctl/internal/heap"
)

// FailedQueue is the scheduler type by which evaluations past the delivery limit are
// dequeued (nomad/eval_broker.go, failedQueue).
const FailedQueue = "_failed"

// Errors that callers can tell apart with errors.Is.
var (
	// ErrDisabled means that the broker is disabled: this server does not lead, or the
	// broker is paused. Ask the leader.
	ErrDisabled = errors.New("eval broker disabled")
	// ErrNotOutstanding means that the evaluation is not unacked: it was never delivered,
	// was acked or nacked already, or its nack timer fired. Drop the result.
	ErrNotOutstanding = errors.New("evaluation is not outstanding")
	// ErrTokenMismatch means that the evaluation was delivered again under another token.
	// Drop the result: the new holder makes its own.
	ErrTokenMismatch = errors.New("evaluation token does not match")
	// ErrNackTimeoutReached means that the nack timer does not run: it expired, or it was
	// paused and not resumed.
	ErrNackTimeoutReached = errors.New("evaluation nack timeout reached")
)

// Config is the configuration of an EvalBroker. The zero value means Nomad's defaults.
type Config struct {
	// Policy orders and sheds pending evaluations; nil means Legacy.
	Policy Policy
	// NackTimeout is how long a delivery may stay unacked before it counts as nacked.
	// Zero means 60 s (eval_nack_timeout); a negative value means without limit.
	NackTimeout time.Duration
	// InitialNackDelay passes between an evaluation's first nack and its redelivery. Zero
	// means 1 s (eval_nack_initial_reenqueue_delay); a negative value means no delay.
	InitialNackDelay time.Duration
	// SubsequentNackDelay, times the number of deliveries less one, passes after each later
	// nack. Zero means 20 s (eval_nack_subsequent_reenqueue_delay); a negative value means
	// no delay.
	SubsequentNackDelay time.Duration
	// DeliveryLimit is the number of deliveries after which a nack moves an evaluation to
	// FailedQueue. Zero means 3 (eval_delivery_limit); a negative value means 1.
	DeliveryLimit int
	// Ahead returns how far the clock that WaitUntil means is ahead of now. Nil means not at all.
	Ahead func() time.Duration
	// Rand makes tokens and breaks ties between scheduler types. The broker becomes its
	// only user. Brokers that may see each other's tokens, such as those of one cluster's
	// servers, need differently seeded sources. Nil means a source that the operating
	// system seeds, with which no run repeats.
	Rand *rand.Rand
}

// EvalBroker is the broker's state. Create it with New. It is not safe for concurrent
// use. No input makes it panic. A call with an earlier time than a call before is answered
// as of that earlier time, and fires nothing.
type EvalBroker struct {
	cfg     Config                      // all set; its Policy is without quirks
	before  func(x, y *Evaluation) bool // the order of pending evaluations
	enabled bool

	// epoch is the first time the broker was told; it counts its own time from then on.
	epoch    time.Time
	hasEpoch bool

	jobs map[JobID]*job
	// tracked has, by ID, every evaluation that is ready, unacked or waiting. Only its job
	// knows one that is pending or cancelable: so a job sheds and forgets a million at once.
	tracked    map[string]*record
	queues     []queue // one for each scheduler type seen, of which there are few
	deadlines  heap.Heap[*record]
	seq        uint64
	cancelable []shedList // first in, first out; none is empty
	counts     Stats      // all but Failed and ByScheduler
	leaks      leaks
	memory     cloneMemory
}

// job serialises the evaluations of one job. It exists while it has any, cancelable ones
// included.
type job struct {
	id      JobID
	active  *record // ready, unacked or waiting for redelivery; nil: none
	pending pending
}

// shedList is what one call of a policy shed and the reaper has not taken yet.
type shedList struct {
	job   *job
	evals []*Evaluation
}

type place uint8

const (
	placeReady place = iota
	placeUnacked
	placeDelayed   // waiting for Wait or WaitUntil; does not occupy its job
	placeRedeliver // waiting after a nack; occupies its job
)

// record is what the broker knows of an evaluation that it tracks.
type record struct {
	eval       *Evaluation
	job        *job // nil in placeDelayed
	place      place
	queue      int // index in EvalBroker.queues of where it is ready or was dequeued from; -1: none
	deliveries int
	enqueued   time.Duration // when it last became ready or pending
	dequeued   time.Duration
	timed      bool
	token      string
	requeue    *Evaluation // to be enqueued after the ack
	deadline   time.Duration
	armed      int    // index in EvalBroker.deadlines; -1: no timer runs
	seq        uint64 // order of equal deadlines
}

// queue holds the ready evaluations of one scheduler type.
type queue struct {
	name    string
	ready   heap.Heap[readyItem]
	unacked int
}

// readyItem has the keys of a ready heap beside the record: sifting a million of them
// reads the heap's own memory only.
type readyItem struct {
	priority    int
	createIndex uint64
	*record
}

// New returns a disabled broker without evaluations.
func New(cfg Config) *EvalBroker {
	if cfg.Policy == nil {
		cfg.Policy = Legacy()
	}
	if cfg.Rand == nil {
		var seed [16]byte
		crand.Read(seed[:]) // never returns an error
		cfg.Rand = rand.New(rand.NewPCG(binary.LittleEndian.Uint64(seed[:8]), binary.LittleEndian.Uint64(seed[8:])))
	}
	cfg.NackTimeout = defaulted(cfg.NackTimeout, 60*time.Second, math.MaxInt64)
	cfg.InitialNackDelay = defaulted(cfg.InitialNackDelay, time.Second, 0)
	cfg.SubsequentNackDelay = defaulted(cfg.SubsequentNackDelay, 20*time.Second, 0)
	cfg.DeliveryLimit = defaulted(cfg.DeliveryLimit, 3, 1)
	if cfg.Ahead == nil {
		cfg.Ahead = func() time.Duration { return 0 }
	}
	b := &EvalBroker{cfg: cfg}
	b.cfg.Policy, b.leaks.quirks = WithoutQuirks(cfg.Policy)
	b.before = totalOrder(b.cfg.Policy)
	b.reset()
	return b
}

// defaulted returns value, or what zero and negative values stand for.
func defaulted[T ~int | ~int64](value, zero, negative T) T {
	switch {
	case value == 0:
		return zero
	case value < 0:
		return negative
	}
	return value
}

// Enabled reports whether the broker accepts evaluations.
func (b *EvalBroker) Enabled() bool { return b.enabled }

// SetEnabled enables the broker, as a server does when it gains leadership, or disables
// it. A disabled broker has forgotten every evaluation, and earlier tokens are invalid.
func (b *EvalBroker) SetEnabled(now time.Time, enabled bool) {
	b.at(now)
	b.enabled = enabled
	if !enabled {
		b.reset()
	}
}

func (b *EvalBroker) reset() {
	b.jobs = make(map[JobID]*job)
	b.tracked = make(map[string]*record)
	b.queues = nil
	b.deadlines = heap.Heap[*record]{Before: firesBefore, Moved: (*record).setArmed}
	b.cancelable = nil
	b.counts = Stats{}
	b.leaks = newLeaks(b.leaks.quirks)
}

// at converts a time to the broker's own.
func (b *EvalBroker) at(now time.Time) time.Duration {
	if !b.hasEpoch {
		b.epoch, b.hasEpoch = now, true
	}
	return now.Sub(b.epoch)
}

// EvalToken is an evaluation to enqueue. When the worker that holds it enqueues it again,
// Token is that of the delivery.
type EvalToken struct {
	Eval  *Evaluation
	Token string
}

// Enqueue hands the broker an evaluation. It becomes ready, or pending if its job is busy,
// after its Wait or else at its WaitUntil.
//
// Enqueue does nothing while the broker is disabled, or if the broker holds that ID. A shed
// ID counts as held until the reaper has taken all shed evaluations of the job. IDs must be
// unique: of two jobs' evaluations of one ID, one may be dropped.
func (b *EvalBroker) Enqueue(now time.Time, e *Evaluation) {
	if b.enabled {
		b.enqueue(b.at(now), e, "")
	}
}

// EnqueueAll enqueues evaluations in order, as Enqueue does. But one that is outstanding
// under the token given with it is set aside: an Ack enqueues it again, and a Nack drops
// it, for then the scheduling run that asked for it is void. If several are set aside
// under one token, the last one counts.
func (b *EvalBroker) EnqueueAll(now time.Time, evals []EvalToken) {
	if !b.enabled {
		return
	}
	at := b.at(now)
	for _, et := range evals {
		b.enqueue(at, et.Eval, et.Token)
	}
}

func (b *EvalBroker) enqueue(now time.Duration, e *Evaluation, token string) {
	if e == nil || b.leaks.remembers(e.ID) {
		return
	}
	if r := b.tracked[e.ID]; r != nil {
		if r.place == placeUnacked && r.token == token {
			r.requeue = e
		}
		return
	}
	wait := e.Wait
	if wait <= 0 && !e.WaitUntil.IsZero() {
		wait = e.WaitUntil.Sub(b.epoch.Add(now + b.cfg.Ahead()))
	}
	if wait <= 0 {
		b.admit(now, e)
		return
	}
	if j := b.jobs[e.Job()]; j != nil && j.pending.ids.Has(e.ID) {
		return
	}
	r := b.track(e, placeDelayed)
	b.counts.Waiting++
	b.arm(r, later(now, wait))
}

// admit makes an untracked evaluation ready, or pending when its job is busy.
func (b *EvalBroker) admit(now time.Duration, e *Evaluation) {
	j := b.job(e.Job())
	if j.active == nil {
		if !j.pending.ids.Has(e.ID) { // a shed one that the reaper has not taken
			b.activate(j, e, now)
		}
		return
	}
	if !j.pending.add(e, now) {
		return
	}
	b.counts.Pending++
	b.leaks.enqueued(e.ID)
	if p, ok := b.cfg.Policy.(EnqueueShedder); ok {
		b.shed(j, p.ShedOnEnqueue)
	}
}

// job returns the job of that ID, which from now on exists.
func (b *EvalBroker) job(id JobID) *job {
	j := b.jobs[id]
	if j == nil {
		j = &job{id: id, pending: pending{before: b.before}}
		b.jobs[id] = j
	}
	return j
}

// Queued reports whether an evaluation of the job is ready or pending: no worker has it.
func (b *EvalBroker) Queued(id JobID) bool {
	j := b.jobs[id]
	return j != nil && (j.pending.Len() > 0 || j.active != nil && j.active.place == placeReady)
}

// shed lets a policy remove pending evaluations. It returns how many the policy shed, and
// if any, when the oldest of all that were pending became so.
func (b *EvalBroker) shed(j *job, by func(PendingEvaluations) []*Evaluation) (n int, oldest time.Duration) {
	p := &j.pending
	before := p.Len()
	p.shedOldest = math.MaxInt64
	shed := by(p)
	b.counts.Pending -= before - p.Len()
	if len(shed) == 0 {
		return 0, 0
	}
	b.leaks.shed(shed)
	p.cancelable += len(shed)
	b.cancelable = append(b.cancelable, shedList{j, shed})
	b.counts.Cancelable += len(shed)
	return len(shed), p.shedOldest
}

// activate makes e the evaluation that its job has in flight. Its waiting time counts from
// since.
func (b *EvalBroker) activate(j *job, e *Evaluation, since time.Duration) {
	r := b.track(e, placeReady)
	r.job, j.active = j, r
	b.makeReady(r, e.Type, since)
}

func (b *EvalBroker) makeReady(r *record, scheduler string, since time.Duration) {
	i := b.queue(scheduler)
	if i < 0 {
		i = len(b.queues)
		b.queues = append(b.queues, queue{name: scheduler, ready: heap.Heap[readyItem]{Before: readyItem.before}})
	}
	r.place, r.queue, r.enqueued = placeReady, i, since
	b.queues[i].ready.Push(readyItem{r.eval.Priority, r.eval.CreateIndex, r})
	b.counts.Ready++
	b.leaks.enqueued(r.eval.ID)
}

// queue returns the index of a scheduler type's queue; -1: it has none.
func (b *EvalBroker) queue(scheduler string) int {
	for i := range b.queues {
		if b.queues[i].name == scheduler {
			return i
		}
	}
	return -1
}

// before is the order of a ready heap. Ties go by ID, so that it is total. Nomad does not
// compare the priorities of two jobs of one ID in different namespaces (docs/adr/0100).
func (x readyItem) before(y readyItem) bool {
	if x.priority != y.priority {
		return x.priority > y.priority
	}
	if x.createIndex != y.createIndex {
		return x.createIndex < y.createIndex
	}
	return x.eval.ID < y.eval.ID
}

func (b *EvalBroker) track(e *Evaluation, p place) *record {
	r := &record{eval: e, place: p, queue: -1, armed: -1}
	b.tracked[e.ID] = r
	return r
}

// dropIfIdle forgets a job that has no evaluations left.
func (b *EvalBroker) dropIfIdle(j *job) {
	if j.active == nil && j.pending.Len() == 0 && j.pending.cancelable <= 0 {
		delete(b.jobs, j.id)
	}
}

// later adds without overflow.
func later(now, d time.Duration) time.Duration {
	if d > math.MaxInt64-max(now, 0) {
		return math.MaxInt64
	}
	return now + d
}
