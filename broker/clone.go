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
	jobs := make(map[*job]*job, len(b.jobs))
	c.jobs = make(map[JobID]*job, len(b.jobs))
	for id, j := range b.jobs {
		copied := &job{id: id, pending: j.pending.clone()}
		if j.active != nil {
			copied.active = records[j.active]
			copied.active.job = copied
		}
		jobs[j], c.jobs[id] = copied, copied
	}
	c.cancelable = b.cancelable.clone(jobs)
	return &c
}

func translate[T comparable](items []T, to map[T]T) []T {
	out := make([]T, len(items))
	for i, r := range items {
		out[i] = to[r]
	}
	return out
}

func (p *PendingEvaluations) clone() PendingEvaluations {
	c := *p
	c.h.items = slices.Clone(p.h.items)
	c.since, c.gone = maps.Clone(p.since), maps.Clone(p.gone)
	return c
}

func (c *cancelableList) clone(jobs map[*job]*job) cancelableList {
	out := cancelableList{n: c.n, chunks: slices.Clone(c.chunks)}
	for i := range out.chunks {
		ch := &out.chunks[i]
		ch.evals = slices.Clone(ch.evals)
		ch.owner = jobs[ch.owner]
		ch.owners = translate(ch.owners, jobs)
	}
	return out
}

func (l *leaks) clone() leaks {
	return leaks{shedIDs: maps.Clone(l.shedIDs), enqueues: maps.Clone(l.enqueues)}
}
