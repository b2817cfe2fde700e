package broker

import (
	"math/rand/v2"
	"slices"
)

// CloneInto makes c an independent copy of b, with which it shares the evaluations. The copy
// draws from r, which no broker in use elsewhere may share. The zero value is a valid c. The
// state of another one is lost and its memory used again, so that a search that makes
// millions of clones and keeps few of them leaves little garbage.
func (b *EvalBroker) CloneInto(c *EvalBroker, r *rand.Rand) {
	old := *c
	*c = *b
	c.cfg.Rand = r
	c.leaks = b.leaks.clone()
	c.tracked, c.jobs = emptied(old.tracked), emptied(old.jobs)
	// Both must have room for all: pointers into them are taken below.
	c.memory.records = slices.Grow(old.memory.records[:0], len(b.tracked))
	c.memory.jobs = slices.Grow(old.memory.jobs[:0], len(b.jobs))
	for id, j := range b.jobs {
		t := c.memory.cloneJob(j)
		if j.active != nil {
			t.active = c.cloneRecord(j.active, t)
		}
		c.jobs[id] = t
	}
	for _, r := range b.deadlines.Items {
		if r.place == placeDelayed {
			c.cloneRecord(r, nil)
		}
	}
	c.queues = old.queues[:0]
	for i, q := range b.queues {
		items := q.ready.Items
		q.ready.Items = nil
		if i < len(old.queues) {
			q.ready.Items = old.queues[i].ready.Items[:0]
		}
		for _, it := range items {
			it.record = c.tracked[it.eval.ID]
			q.ready.Items = append(q.ready.Items, it)
		}
		c.queues = append(c.queues, q)
	}
	c.deadlines.Items = old.deadlines.Items[:0]
	for _, r := range b.deadlines.Items {
		c.deadlines.Items = append(c.deadlines.Items, c.tracked[r.eval.ID])
	}
	c.cancelable = old.cancelable[:0]
	for _, l := range b.cancelable {
		c.cancelable = append(c.cancelable, shedList{c.jobs[l.job.id], slices.Clone(l.evals)})
	}
}

// cloneMemory is where the records and jobs of a clone are when it is made.
type cloneMemory struct {
	records []record
	jobs    []job
}

func (m *cloneMemory) cloneJob(j *job) *job {
	m.jobs = m.jobs[:len(m.jobs)+1]
	t := &m.jobs[len(m.jobs)-1]
	evals, since := t.pending.evals[:0], t.pending.since[:0]
	*t = *j
	t.pending.evals = append(evals, j.pending.evals...)
	t.pending.since = append(since, j.pending.since...)
	t.pending.ids = j.pending.ids.Clone()
	return t
}

func (b *EvalBroker) cloneRecord(r *record, j *job) *record {
	b.memory.records = append(b.memory.records, *r)
	t := &b.memory.records[len(b.memory.records)-1]
	t.job = j
	b.tracked[t.eval.ID] = t
	return t
}

func emptied[K comparable, V any](m map[K]V) map[K]V {
	if m == nil {
		return make(map[K]V)
	}
	clear(m)
	return m
}
