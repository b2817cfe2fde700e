package broker

// cancelableList is a queue of evaluations in chunks, so that a long shed list is taken
// over as it is and handed on without copying it.
type cancelableList struct {
	chunks []chunk // none is empty
	n      int
}

// chunk is a part of the queue: of one job, or of the jobs in owners, in step with evals.
type chunk struct {
	evals  []*Evaluation
	owner  *job
	owners []*job
}

const sharedChunk = 256

func (c *cancelableList) len() int { return c.n }

// add appends evaluations that a job's policy shed; it becomes the owner of a slice
// longer than handOver, and copies and clears a shorter one.
func (c *cancelableList) add(evals []*Evaluation, j *job) {
	if len(evals) == 0 {
		return
	}
	c.n += len(evals)
	if len(evals) > handOver {
		c.chunks = append(c.chunks, chunk{evals: evals, owner: j})
		return
	}
	last := len(c.chunks) - 1
	if last < 0 || c.chunks[last].owner != nil || len(c.chunks[last].evals)+len(evals) > cap(c.chunks[last].evals) {
		c.chunks = append(c.chunks, chunk{evals: make([]*Evaluation, 0, sharedChunk), owners: make([]*job, 0, sharedChunk)})
		last++
	}
	shared := &c.chunks[last]
	shared.evals = append(shared.evals, evals...)
	for range evals {
		shared.owners = append(shared.owners, j)
	}
	clear(evals)
}

// appendTo appends the queued evaluations to a slice, leaving them queued.
func (c *cancelableList) appendTo(to []*Evaluation) []*Evaluation {
	for _, ch := range c.chunks {
		to = append(to, ch.evals...)
	}
	return to
}

// take removes up to limit evaluations, first in, first out, and tells released how many
// of each job's they are.
func (c *cancelableList) take(limit int, released func(j *job, n int)) []*Evaluation {
	limit = min(limit, c.n)
	if limit <= 0 {
		return nil
	}
	if len(c.chunks[0].evals) >= limit {
		return c.takeFirst(limit, released)
	}
	taken := make([]*Evaluation, 0, limit)
	for len(taken) < limit {
		taken = append(taken, c.takeFirst(min(limit-len(taken), len(c.chunks[0].evals)), released)...)
	}
	return taken
}

// takeFirst takes from the first chunk, which holds at least n. The capacity of what it
// returns is cut so that a caller who appends cannot reach what is still queued.
func (c *cancelableList) takeFirst(n int, released func(j *job, n int)) []*Evaluation {
	first := &c.chunks[0]
	taken := first.evals[:n:n]
	first.evals = first.evals[n:]
	c.n -= n
	owner, owners := first.owner, first.owners
	if owner == nil {
		owners, first.owners = owners[:n], owners[n:]
	}
	if len(first.evals) == 0 {
		*first = chunk{}
		c.chunks = c.chunks[1:]
	}
	if owner != nil {
		released(owner, n)
	}
	for _, j := range owners {
		released(j, 1)
	}
	return taken
}
