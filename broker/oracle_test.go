package broker_test

import (
	"cmp"
	"slices"
	"time"

	"github.com/simctl/simctl/broker"
)

// oracle is the broker written to be obviously right: one list of evaluations, which every
// operation searches from end to end. It draws nothing at random. Where the broker draws,
// the oracle says which outcomes are valid.
type oracle struct {
	cfg        broker.Config
	policy     broker.Policy // of cfg, without its quirks
	leaks      bool          // remembers the IDs of shed evaluations
	enabled    bool
	items      []*item // in the order in which they came to where they are
	cancelable []*broker.Evaluation
	shed       []*broker.Evaluation // all since it was enabled
	forgotten  []*broker.Evaluation // those of them whose IDs may be enqueued again
}

type item struct {
	eval       *broker.Evaluation
	where      string // ready, unacked, waiting, redelivery or pending
	queue      string
	deliveries int
	token      string
	requeue    *broker.Evaluation
	timer      bool
	due        time.Time
	enqueued   time.Time
	dequeued   time.Time
}

// newOracle returns an oracle for a configuration in which all fields but Rand are set.
func newOracle(cfg broker.Config) *oracle {
	policy, quirks := broker.WithoutQuirks(cfg.Policy)
	return &oracle{cfg: cfg, policy: policy, leaks: quirks&broker.DedupLeak != 0}
}

func (o *oracle) setEnabled(enabled bool) {
	o.enabled = enabled
	if !enabled {
		o.items, o.cancelable, o.shed, o.forgotten = nil, nil, nil, nil
	}
}

// remembers reports whether an evaluation of this ID and job was shed and is not forgotten.
func (o *oracle) remembers(e *broker.Evaluation) bool {
	for _, s := range o.shed {
		if s.ID == e.ID && s.Job() == e.Job() && (o.leaks || !slices.Contains(o.forgotten, s)) {
			return true
		}
	}
	return false
}

// take removes a cancelable evaluation and reports whether there was one. With a job's last
// one it forgets all that the job shed.
func (o *oracle) take(e *broker.Evaluation) bool {
	i := slices.Index(o.cancelable, e)
	if i < 0 {
		return false
	}
	o.cancelable = slices.Delete(o.cancelable, i, i+1)
	if !slices.ContainsFunc(o.cancelable, func(c *broker.Evaluation) bool { return c.Job() == e.Job() }) {
		for _, s := range o.shed {
			if s.Job() == e.Job() {
				o.forgotten = append(o.forgotten, s)
			}
		}
	}
	return true
}

func (o *oracle) find(id string) *item {
	for _, it := range o.items {
		if it.eval.ID == id {
			return it
		}
	}
	return nil
}

// occupant returns the evaluation that keeps the job busy; nil: none does.
func (o *oracle) occupant(job broker.JobID) *item {
	for _, it := range o.items {
		if it.eval.Job() == job && (it.where == "ready" || it.where == "unacked" || it.where == "redelivery") {
			return it
		}
	}
	return nil
}

// put moves an item to the end of the list and to a new place.
func (o *oracle) put(it *item, where string) {
	o.remove(it)
	it.where = where
	o.items = append(o.items, it)
}

func (o *oracle) remove(it *item) {
	o.items = slices.DeleteFunc(o.items, func(other *item) bool { return other == it })
}

func (o *oracle) enqueue(now time.Time, e *broker.Evaluation, token string) {
	if !o.enabled || o.remembers(e) {
		return
	}
	if it := o.find(e.ID); it != nil {
		if token != "" && it.where == "unacked" && it.token == token {
			it.requeue = e
		}
		return
	}
	it := &item{eval: e}
	switch {
	case e.Wait > 0:
		o.start(it, now.Add(e.Wait))
		o.put(it, "waiting")
	case !e.WaitUntil.IsZero() && e.WaitUntil.After(now):
		o.start(it, e.WaitUntil)
		o.put(it, "waiting")
	default:
		o.admit(now, it)
	}
}

func (o *oracle) admit(now time.Time, it *item) {
	it.enqueued = now
	if o.occupant(it.eval.Job()) != nil {
		o.put(it, "pending")
		if p, ok := o.policy.(broker.EnqueueShedder); ok {
			o.shedBy(p.ShedOnEnqueue, it.eval.Job())
		}
		return
	}
	it.queue = it.eval.Type
	o.put(it, "ready")
}

func (o *oracle) start(it *item, due time.Time) { it.timer, it.due = true, due }

// heads returns the evaluations any of which a dequeue may take.
func (o *oracle) heads(schedulers []string) []*broker.Evaluation {
	var heads []*broker.Evaluation
	for _, name := range schedulers {
		var head *broker.Evaluation
		for _, it := range o.items {
			if it.where == "ready" && it.queue == name && (head == nil || readyOrder(it.eval, head) < 0) {
				head = it.eval
			}
		}
		if head != nil {
			heads = append(heads, head)
		}
	}
	highest := 0
	for i, e := range heads {
		if i == 0 || e.Priority > highest {
			highest = e.Priority
		}
	}
	return slices.DeleteFunc(heads, func(e *broker.Evaluation) bool { return e.Priority < highest })
}

func readyOrder(a, b *broker.Evaluation) int {
	return cmp.Or(cmp.Compare(b.Priority, a.Priority), cmp.Compare(a.CreateIndex, b.CreateIndex), cmp.Compare(a.ID, b.ID))
}

// took notes which of the heads the broker delivered, and returns the delivery.
func (o *oracle) took(now time.Time, id, token string) broker.Delivery {
	it := o.find(id)
	it.token, it.dequeued = token, now
	it.deliveries++
	o.start(it, now.Add(o.cfg.NackTimeout))
	o.put(it, "unacked")
	return broker.Delivery{Eval: it.eval, Token: token, Attempt: it.deliveries, Waited: now.Sub(it.enqueued), Timed: true}
}

// delivered returns a delivery, or the error that a call on it must return.
func (o *oracle) delivered(id, token string) (*item, error) {
	it := o.find(id)
	switch {
	case !o.enabled:
		return nil, broker.ErrDisabled
	case it == nil || it.where != "unacked":
		return nil, broker.ErrNotOutstanding
	case it.token != token:
		return nil, broker.ErrTokenMismatch
	}
	return it, nil
}

func (it *item) inTime(now time.Time) error {
	if !it.timer || !it.due.After(now) {
		return broker.ErrNackTimeoutReached
	}
	return nil
}

func (o *oracle) ack(now time.Time, id, token string) (broker.AckResult, error) {
	it, err := o.delivered(id, token)
	if err != nil {
		return broker.AckResult{}, err
	}
	requeue := it.requeue
	it.requeue = nil
	if err := it.inTime(now); err != nil {
		return broker.AckResult{}, err
	}
	o.remove(it)
	res := broker.AckResult{Job: it.eval.Job(), Held: now.Sub(it.dequeued), Response: now.Sub(it.enqueued), Timed: true}
	waited := time.Duration(0)
	for _, it := range o.pending(res.Job) {
		waited = max(waited, now.Sub(it.enqueued))
	}
	if res.Shed = o.shedBy(o.policy.Shed, res.Job); res.Shed > 0 {
		res.ShedWaited = waited
	}
	if left := o.pending(res.Job); len(left) > 0 {
		best := left[0]
		best.queue = best.eval.Type
		o.put(best, "ready")
		res.Next = best.eval
	}
	if requeue != nil {
		o.enqueue(now, requeue, "")
	}
	res.Cancelable = len(o.cancelable)
	return res, nil
}

func (o *oracle) nack(now time.Time, id, token string) error {
	it, err := o.delivered(id, token)
	if err != nil {
		return err
	}
	o.giveBack(now, it)
	return nil
}

func (o *oracle) giveBack(now time.Time, it *item) {
	it.token, it.requeue, it.timer = "", nil, false
	delay := o.cfg.InitialNackDelay
	if it.deliveries > 1 {
		delay = time.Duration(it.deliveries-1) * o.cfg.SubsequentNackDelay
	}
	it.enqueued = now
	switch {
	case it.deliveries >= o.cfg.DeliveryLimit:
		it.queue = broker.FailedQueue
		o.put(it, "ready")
	case delay > 0:
		o.start(it, now.Add(delay))
		o.put(it, "redelivery")
	default:
		it.queue = it.eval.Type
		o.put(it, "ready")
	}
}

func (o *oracle) reset(now time.Time, id, token string) error {
	it, err := o.delivered(id, token)
	if err == nil {
		err = it.inTime(now)
	}
	if err == nil {
		o.start(it, now.Add(o.cfg.NackTimeout))
		o.put(it, "unacked")
	}
	return err
}

func (o *oracle) pause(now time.Time, id, token string) error {
	it, err := o.delivered(id, token)
	if err == nil {
		err = it.inTime(now)
	}
	if err == nil {
		it.timer = false
	}
	return err
}

func (o *oracle) resume(now time.Time, id, token string) error {
	it, err := o.delivered(id, token)
	if err == nil && it.timer {
		err = it.inTime(now)
	}
	if err == nil {
		o.start(it, now.Add(o.cfg.NackTimeout))
		o.put(it, "unacked")
	}
	return err
}

func (o *oracle) dropWaiting(id string) bool {
	it := o.find(id)
	if it == nil || it.where != "waiting" {
		return false
	}
	o.remove(it)
	return true
}

// first returns the item whose timer fires first. Of several it is the one started first.
func (o *oracle) first() *item {
	var first *item
	for _, it := range o.items {
		if it.timer && (first == nil || it.due.Before(first.due)) {
			first = it
		}
	}
	return first
}

func (o *oracle) advance(now time.Time) bool {
	fired := false
	for it := o.first(); it != nil && !it.due.After(now); it = o.first() {
		fired = true
		it.timer = false
		switch it.where {
		case "unacked":
			o.giveBack(it.due, it)
		case "waiting":
			o.admit(it.due, it)
		case "redelivery":
			it.enqueued, it.queue = it.due, it.eval.Type
			o.put(it, "ready")
		}
	}
	return fired
}
