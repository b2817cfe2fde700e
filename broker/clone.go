package broker

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Clone returns an independent copy of the broker, which shares the evaluations. The copy
// draws from r, which it must not share with a broker used elsewhere.
func (b *EvalBroker) Clone(r *rand.Rand) *EvalBroker {
	c := *b
	c.cfg.Rand = r
	c.eligible, c.freeRecords, c.freeJobs = nil, nil, nil
	c.cancelable = b.cancelable.clone()
	c.leaks = b.leaks.clone()
	c.queues = make(map[string]*queue, len(b.queues))
	for name, q := range b.queues {
		c.queues[name] = &queue{name: q.name, unacked: q.unacked, ready: heap[*record]{before: dequeuedBefore}}
	}
	records := make(map[*record]*record, len(b.tracked))
	c.tracked = make(map[string]*record, len(b.tracked))
	for id, r := range b.tracked {
		copied := *r
		if r.queue != nil {
			copied.queue = c.queues[r.queue.name]
		}
		records[r], c.tracked[id] = &copied, &copied
	}
	for name, q := range b.queues {
		c.queues[name].ready.items = translate(q.ready.items, records)
	}
	c.deadlines.items = translate(b.deadlines.items, records)
	c.jobs = make(map[JobID]*job, len(b.jobs))
	for id, j := range b.jobs {
		copied := &job{id: id, pending: j.pending.clone()}
		if j.active != nil {
			copied.active = records[j.active]
			copied.active.job = copied
		}
		c.jobs[id] = copied
	}
	return &c
}

func translate(items []*record, to map[*record]*record) []*record {
	out := make([]*record, len(items))
	for i, r := range items {
		out[i] = to[r]
	}
	return out
}

func (p *PendingEvaluations) clone() PendingEvaluations {
	c := *p
	c.h.items = slices.Clone(p.h.items)
	c.since = maps.Clone(p.since)
	return c
}

func (c *cancelableList) clone() cancelableList {
	if c.n == 0 {
		return cancelableList{}
	}
	return cancelableList{chunks: [][]*Evaluation{c.appendTo(nil)}, n: c.n}
}

func (l *leaks) clone() leaks {
	return leaks{shedIDs: maps.Clone(l.shedIDs), enqueues: maps.Clone(l.enqueues)}
}
