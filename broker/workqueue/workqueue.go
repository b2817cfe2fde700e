package workqueue

import (
	"maps"
	"math"
	"math/rand/v2"
	"time"

	"github.com/simctl/simctl/broker"
)

// Queue is a queue of jobs. An evaluation that is enqueued only says which job has to be looked
// at, and since which index; no more of it is kept. A job that waits for a worker already is not
// queued a second time, and one that a worker has is queued again after the ack. However many
// evaluations of a job come, they cost one delivery, or two if some come during the first.
//
// What it hands out is an evaluation made up for the job, whose ID is the job's and whose
// ModifyIndex is the newest index of those that it stands for: the worker's state must include
// it. One that waits for a time is delivered as it is, for it has to do with what it waits for.
//
// Tokens, nack timers and redelivery are the broker's. But deliveries have no limit, and nothing
// is ever shed.
type Queue struct {
	*broker.EvalBroker
	calls map[broker.JobID]calls
}

// calls are those for one job.
type calls struct {
	index uint64    // the newest that any was about
	open  int       // that no delivery has taken yet: the job is dirty
	since time.Time // when the first of these came
	taken int       // by deliveries since the last ack
}

// New returns a disabled queue. The policy and the delivery limit of cfg do not count.
func New(cfg broker.Config) *Queue {
	cfg.Policy, cfg.DeliveryLimit = broker.Legacy(), math.MaxInt
	return &Queue{broker.New(cfg), map[broker.JobID]calls{}}
}

// key is the ID under which a job is queued. Namespaces have no slash.
func key(job broker.JobID) string { return job.Namespace + "/" + job.ID }

// SetEnabled is the broker's: a disabled queue has forgotten every job.
func (q *Queue) SetEnabled(now time.Time, enabled bool) {
	q.EvalBroker.SetEnabled(now, enabled)
	if !enabled {
		clear(q.calls)
	}
}

// Enqueue calls for a look at the evaluation's job: at once, or if it waits, when that is over.
func (q *Queue) Enqueue(now time.Time, e *broker.Evaluation) {
	switch {
	case !q.Enabled() || e == nil:
		return
	case e.Waits():
		q.EvalBroker.Enqueue(now, e)
		return
	}
	c := q.calls[e.Job()]
	c.index = max(c.index, e.ModifyIndex)
	if c.open++; c.open == 1 {
		c.since = now
	}
	q.calls[e.Job()] = c
	id := key(e.Job())
	token, _ := q.Outstanding(id) // if a worker has the job, this is set aside until the ack
	q.EvalBroker.EnqueueAll(now, []broker.EvalToken{{Token: token, Eval: &broker.Evaluation{
		ID: id, Namespace: e.Namespace, JobID: e.JobID, Type: e.Type, Priority: e.Priority, TriggeredBy: broker.TriggeredByJobRegister,
		Status: broker.StatusPending, CreateIndex: e.CreateIndex, ModifyIndex: e.ModifyIndex, CreateTime: e.CreateTime, ModifyTime: e.ModifyTime,
	}}})
}

// EnqueueAll enqueues evaluations in order. Their tokens do not count.
func (q *Queue) EnqueueAll(now time.Time, evals []broker.EvalToken) {
	for _, et := range evals {
		q.Enqueue(now, et.Eval)
	}
}

// Deliver hands out a job. Waited is the time since the first call for it that no earlier
// delivery has taken.
func (q *Queue) Deliver(now time.Time, schedulers []string) (broker.Delivery, error) {
	d, err := q.EvalBroker.Deliver(now, schedulers)
	if d.Eval == nil || err != nil {
		return d, err
	}
	job := d.Eval.Job()
	c, called := q.calls[job]
	if !called {
		return d, nil
	}
	if c.open > 0 {
		d.Waited = now.Sub(c.since)
	}
	c.open, c.taken = 0, c.taken+c.open
	q.calls[job] = c
	d.Eval = d.Eval.Copy()
	d.Eval.ModifyIndex = max(d.Eval.ModifyIndex, c.index)
	return d, nil
}

// Dequeue is Deliver without the details.
func (q *Queue) Dequeue(now time.Time, schedulers []string) (*broker.Evaluation, string, error) {
	d, err := q.Deliver(now, schedulers)
	return d.Eval, d.Token, err
}

// Ack ends a delivery with success. A job that was called for meanwhile is ready again. The calls
// that the delivery stood for, but for one, count as shed.
func (q *Queue) Ack(now time.Time, evalID, token string) (broker.AckResult, error) {
	res, err := q.EvalBroker.Ack(now, evalID, token)
	if err != nil {
		return res, err
	}
	c := q.calls[res.Job]
	res.Shed = c.taken
	if evalID == key(res.Job) {
		res.Shed = max(c.taken-1, 0) // one that waited may have taken all before
	}
	if c.taken = 0; c.open > 0 {
		q.calls[res.Job] = c
	} else {
		delete(q.calls, res.Job)
	}
	return res, nil
}

// CloneInto makes c an independent copy of q; see broker.EvalBroker.CloneInto.
func (q *Queue) CloneInto(c *Queue, r *rand.Rand) {
	if c.EvalBroker == nil {
		c.EvalBroker = new(broker.EvalBroker)
	}
	q.EvalBroker.CloneInto(c.EvalBroker, r)
	c.calls = maps.Clone(q.calls)
}
