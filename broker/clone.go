package broker

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Clone returns an independent copy of the broker, which shares the evaluations. The copy
// draws from r, which it must not share with a broker used elsewhere.
func (b *EvalBroker) Clone(r *rand.Rand) *EvalBroker {
	c := new(EvalBroker)
	c.reset()
	b.CloneInto(c, r)
	return c
}

// CloneInto makes c, a broker whose own state is not needed any more, a Clone of b. A
// search that copies brokers by the million so uses the memory of most of them again.
func (b *EvalBroker) CloneInto(c *EvalBroker, r *rand.Rand) {
	c.recycle()
	c.cfg, c.policy, c.quirks = b.cfg, b.policy, b.quirks
	c.cfg.Rand = r
	c.enabled, c.epoch, c.hasEpoch = b.enabled, b.epoch, b.hasEpoch
	c.seq, c.counts = b.seq, b.counts
	c.leaks = b.leaks.clone()

	for name, q := range b.queues {
		c.queue(name).unacked = q.unacked
	}
	for j := range b.jobs.all {
		j.twin = c.newJob(j.id)
		j.pending.copyTo(&j.twin.pending)
	}
	for r := range b.tracked.all {
		t := c.track(r.eval, r.place)
		*t = *r
		r.twin, t.twin = t, nil
		if r.queue != nil {
			t.queue = c.queues[r.queue.name]
		}
		if r.job != nil {
			t.job = r.job.twin
			t.job.active = t
		}
	}
	for name, q := range b.queues {
		items := slices.Clone(q.ready.items)
		for i := range items {
			items[i].r = items[i].r.twin
		}
		c.queues[name].ready.items = items
	}
	for _, r := range b.deadlines.items {
		c.deadlines.items = append(c.deadlines.items, r.twin)
	}
	c.cancelable = b.cancelable.clone()
	b.forgetTwins()
}

// recycle forgets everything but keeps the memory.
func (b *EvalBroker) recycle() {
	for r := range b.tracked.all {
		*r = record{armed: -1}
		b.freeRecords = append(b.freeRecords, r)
	}
	for j := range b.jobs.all {
		j.pending.recycle()
		j.id, j.active = JobID{}, nil
		b.freeJobs = append(b.freeJobs, j)
	}
	b.tracked.empty()
	b.jobs.empty()
	clear(b.queues)
	clear(b.deadlines.items)
	b.deadlines.items = b.deadlines.items[:0]
}

// forgetTwins lets go of what CloneInto noted in the original.
func (b *EvalBroker) forgetTwins() {
	for j := range b.jobs.all {
		j.twin = nil
	}
	for r := range b.tracked.all {
		r.twin = nil
	}
}

func (p *PendingEvaluations) copyTo(c *PendingEvaluations) {
	c.evals, c.since, c.best = append(c.evals[:0], p.evals...), append(c.since[:0], p.since...), p.best
	c.h.before = p.h.before
	c.h.items = append(c.h.items[:0], p.h.items...)
	c.run = slices.Clone(p.run)
	p.ids.copyTo(&c.ids)
	p.gone.copyTo(&c.gone)
	c.cancelable, c.oldest = p.cancelable, p.oldest
}

func (c *cancelableList) clone() cancelableList {
	out := cancelableList{n: c.n, chunks: slices.Clone(c.chunks)}
	for i := range out.chunks {
		ch := &out.chunks[i]
		ch.evals = slices.Clone(ch.evals)
		if ch.owner != nil {
			ch.owner = ch.owner.twin
		}
		ch.owners = slices.Clone(ch.owners)
		for k, j := range ch.owners {
			ch.owners[k] = j.twin
		}
	}
	return out
}

func (l *leaks) clone() leaks {
	return leaks{shedIDs: maps.Clone(l.shedIDs), enqueues: maps.Clone(l.enqueues)}
}
