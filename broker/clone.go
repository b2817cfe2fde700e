package broker

import (
	"maps"
	"math/rand/v2"
	"slices"
)

// Clone returns an independent copy of the broker. The two share the evaluations. The copy
// draws from r, which no broker in use elsewhere may share.
func (b *EvalBroker) Clone(r *rand.Rand) *EvalBroker {
	c := new(EvalBroker)
	b.CloneInto(c, r)
	return c
}

// CloneInto makes c a Clone of b. It uses the memory of c, which nobody may use meanwhile,
// again: a search that makes millions of clones and keeps few of them leaves no garbage.
func (b *EvalBroker) CloneInto(c *EvalBroker, r *rand.Rand) {
	old := *c
	*c = *b
	c.cfg.Rand = r
	c.leaks = b.leaks.clone()
	c.tracked, c.jobs = emptied(old.tracked), emptied(old.jobs)
	c.block.records = slices.Grow(old.block.records[:0], len(b.tracked))
	c.block.jobs = slices.Grow(old.block.jobs[:0], len(b.jobs))
	for id, j := range b.jobs {
		t := c.block.cloneJob(j)
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

// block is where a clone's records and jobs lie.
type block struct {
	records []record
	jobs    []job
}

func (b *block) cloneJob(j *job) *job {
	n := len(b.jobs)
	b.jobs = b.jobs[:n+1]
	t := &b.jobs[n]
	evals := t.pending.evals[:0]
	*t = *j
	t.pending.evals = append(evals, j.pending.evals...)
	t.pending.since = maps.Clone(j.pending.since)
	return t
}

func (b *EvalBroker) cloneRecord(r *record, j *job) *record {
	b.block.records = append(b.block.records, *r)
	t := &b.block.records[len(b.block.records)-1]
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

func (l *leaks) clone() leaks {
	return leaks{shedIDs: maps.Clone(l.shedIDs), enqueues: maps.Clone(l.enqueues)}
}
