package broker

import (
	"fmt"
	"slices"
	"time"

	"github.com/simctl/simctl/internal/uuid"
)

// Delivery is an evaluation handed to a worker.
type Delivery struct {
	Eval *Evaluation // nil: nothing is ready
	// Token identifies the delivery in Ack, Nack and the nack timer's calls.
	Token string
	// Attempt counts the evaluation's deliveries; the first is 1.
	Attempt int
	// Waited is how long the evaluation was pending and ready: since it was enqueued, or
	// since the end of the wait or redelivery delay before this delivery.
	Waited time.Duration
	// Timed is false if Nomad would not have recorded Waited; see SilentTimings.
	Timed bool
}

// AckResult is what an Ack brought about.
type AckResult struct {
	Job JobID
	// Shed is how many of the job's pending evaluations became cancelable.
	Shed int
	// ShedWaited is how long the oldest of the job's pending evaluations, the kept one
	// included, had been pending; zero if none was shed.
	ShedWaited time.Duration
	// Cancelable is how many evaluations are cancelable now, of whichever job.
	Cancelable int
	// Next is the pending evaluation of the job that became ready; nil: none.
	Next *Evaluation
	// Held is the time since the acked delivery, Response that since its enqueue.
	Held, Response time.Duration
	// Timed is false if Nomad would not have recorded Held and Response; see
	// SilentTimings.
	Timed bool
}

// Dequeue is Deliver without the details. It returns nil if no evaluation is ready.
func (b *EvalBroker) Dequeue(now time.Time, schedulers []string) (*Evaluation, string, error) {
	d, err := b.Deliver(now, schedulers)
	return d.Eval, d.Token, err
}

// Deliver hands out an evaluation of one of the scheduler types, or of FailedQueue if that
// is among them, and starts its nack timer. It compares the first ready evaluation of each
// type by priority, and draws a type at random if several have the highest. The zero
// Delivery means that nothing is ready. The only error is ErrDisabled.
func (b *EvalBroker) Deliver(now time.Time, schedulers []string) (Delivery, error) {
	if !b.enabled {
		return Delivery{}, ErrDisabled
	}
	q := b.choose(schedulers)
	if q == nil {
		return Delivery{}, nil
	}
	at := b.at(now)
	r := q.ready.Pop().record
	r.place, r.dequeued, r.token = placeUnacked, at, uuid.Format(b.cfg.Rand.Uint64(), b.cfg.Rand.Uint64())
	r.deliveries++
	r.timed = b.leaks.timed(r.eval.ID)
	q.unacked++
	b.counts.Ready--
	b.counts.Unacked++
	b.arm(r, later(at, b.cfg.NackTimeout))
	return Delivery{Eval: r.eval, Token: r.token, Attempt: r.deliveries, Waited: at - r.enqueued, Timed: r.timed}, nil
}

// choose returns the queue to dequeue from; nil: nothing is ready for these types.
func (b *EvalBroker) choose(schedulers []string) *queue {
	eligible, best := make([]*queue, 0, 8), 0
	for _, name := range schedulers {
		i := b.queue(name)
		if i < 0 || b.queues[i].ready.Len() == 0 {
			continue
		}
		q := &b.queues[i]
		priority := b.peek(q)
		if len(eligible) == 0 || priority > best {
			eligible, best = append(eligible[:0], q), priority
		} else if priority == best {
			eligible = append(eligible, q)
		}
	}
	switch n := len(eligible); n {
	case 0:
		return nil
	case 1:
		return eligible[0]
	default:
		return eligible[b.cfg.Rand.IntN(n)]
	}
}

// peek returns the priority by which the queue competes with others.
func (b *EvalBroker) peek(q *queue) int {
	at := 0
	if b.leaks.quirks.has(LastSlotPeek) {
		at = q.ready.Len() - 1
	}
	return q.ready.Items[at].priority
}

// Ack ends a delivery with success and frees its job: the policy sheds what the job no
// longer needs, the best of its pending evaluations becomes ready, and one that EnqueueAll
// set aside under the token is enqueued.
//
// Errors are ErrDisabled, ErrNotOutstanding, ErrTokenMismatch, and ErrNackTimeoutReached if
// the nack timer is paused, or is due and Advance has not fired it yet. After an error
// under the right token an evaluation set aside is dropped; nothing else changes.
func (b *EvalBroker) Ack(now time.Time, evalID, token string) (AckResult, error) {
	r, err := b.outstanding(evalID, token)
	if err != nil {
		return AckResult{}, fmt.Errorf("ack of evaluation %q: %w", evalID, err)
	}
	at := b.at(now)
	requeue := r.requeue
	r.requeue = nil
	if err := r.running(at); err != nil {
		b.leaks.ended(evalID)
		return AckResult{}, fmt.Errorf("ack of evaluation %q: %w", evalID, err)
	}
	j := r.job
	res := AckResult{Job: j.id, Held: at - r.dequeued, Response: at - r.enqueued, Timed: r.timed}
	b.endDelivery(r)
	delete(b.tracked, evalID)
	j.active = nil
	b.afterAck(at, j, &res)
	if requeue != nil {
		b.enqueue(at, requeue, "")
	}
	b.dropIfIdle(j)
	b.leaks.ended(evalID)
	res.Cancelable = b.counts.Cancelable
	return res, nil
}

// afterAck sheds the job's pending evaluations and makes the best of the rest ready.
func (b *EvalBroker) afterAck(now time.Duration, j *job, res *AckResult) {
	if j.pending.Len() == 0 {
		return
	}
	n, oldest := b.shed(j, b.cfg.Policy.Shed)
	if n > 0 {
		res.Shed, res.ShedWaited = n, now-oldest
	}
	for j.active == nil && j.pending.Len() > 0 {
		e, since := j.pending.pop()
		b.counts.Pending--
		if b.tracked[e.ID] == nil { // else another job's evaluation has this ID
			b.activate(j, e, since)
			res.Next = e
		}
	}
}

// Nack ends a delivery without success. Below the delivery limit the evaluation becomes
// ready again after a delay; at the limit it becomes ready in FailedQueue. Its job stays
// busy. An evaluation that EnqueueAll set aside under the token is dropped.
//
// Errors are ErrDisabled, ErrNotOutstanding and ErrTokenMismatch. It does not matter
// whether the nack timer is due or paused.
func (b *EvalBroker) Nack(now time.Time, evalID, token string) error {
	r, err := b.outstanding(evalID, token)
	if err != nil {
		return fmt.Errorf("nack of evaluation %q: %w", evalID, err)
	}
	b.nack(b.at(now), r)
	return nil
}

func (b *EvalBroker) nack(now time.Duration, r *record) {
	defer b.leaks.ended(r.eval.ID)
	b.endDelivery(r)
	r.token, r.requeue = "", nil
	if r.deliveries >= b.cfg.DeliveryLimit {
		b.makeReady(r, FailedQueue, now)
		return
	}
	delay := b.cfg.InitialNackDelay
	if r.deliveries > 1 {
		delay = time.Duration(r.deliveries-1) * b.cfg.SubsequentNackDelay
	}
	if delay > 0 {
		r.place = placeRedeliver
		b.counts.Waiting++
		b.arm(r, later(now, delay))
		return
	}
	b.makeReady(r, r.eval.Type, now)
}

// endDelivery takes the record out of unacked.
func (b *EvalBroker) endDelivery(r *record) {
	b.disarm(r)
	b.queues[r.queue].unacked--
	b.counts.Unacked--
}

// outstanding finds the delivery that evalID and token name.
func (b *EvalBroker) outstanding(evalID, token string) (*record, error) {
	if !b.enabled {
		return nil, ErrDisabled
	}
	r := b.tracked[evalID]
	if r == nil || r.place != placeUnacked {
		return nil, ErrNotOutstanding
	}
	if r.token != token {
		return nil, ErrTokenMismatch
	}
	return r, nil
}

// Cancel makes evaluations cancelable, such as a batch that the reaper could not write. None
// may be so already. It leaves out those that the broker tracks, and does nothing while the
// broker is disabled.
func (b *EvalBroker) Cancel(evals []*Evaluation) {
	for _, e := range evals {
		if !b.enabled || e == nil || b.tracked[e.ID] != nil {
			continue
		}
		j := b.job(e.Job())
		if !j.pending.ids.Add(e.ID) && slices.ContainsFunc(j.pending.evals, func(p *Evaluation) bool { return p.ID == e.ID }) {
			continue
		}
		j.pending.cancelable++
		b.counts.Cancelable++
		if last := len(b.cancelable) - 1; last >= 0 && b.cancelable[last].job == j {
			b.cancelable[last].evals = append(b.cancelable[last].evals, e)
		} else {
			b.cancelable = append(b.cancelable, shedList{j, []*Evaluation{e}})
		}
	}
}

// Cancelable takes up to batch of the cancelable evaluations out of the broker, in the
// order in which they were shed, for the reaper to cancel. The caller owns the slice.
func (b *EvalBroker) Cancelable(batch int) []*Evaluation {
	var taken []*Evaluation
	for len(taken) < batch && len(b.cancelable) > 0 {
		first := &b.cancelable[0]
		n := min(batch-len(taken), len(first.evals))
		taken = append(taken, first.evals[:n]...)
		clear(first.evals[:n]) // a list may be long, and its array with it
		first.evals = first.evals[n:]
		first.job.pending.taken(n)
		b.dropIfIdle(first.job)
		b.counts.Cancelable -= n
		if len(first.evals) == 0 {
			b.cancelable[0] = shedList{}
			b.cancelable = b.cancelable[1:]
		}
	}
	return taken
}
