package broker

// cancelableList is a queue of evaluations in chunks, so that a long shed list is taken
// over as it is and handed on without copying it.
type cancelableList struct {
	chunks [][]*Evaluation // none is empty
	n      int
}

const copiedChunk = 256

func (c *cancelableList) len() int { return c.n }

// add appends the evaluations; it becomes the owner of a slice longer than handOver, and
// copies and clears a shorter one.
func (c *cancelableList) add(evals []*Evaluation) {
	if len(evals) == 0 {
		return
	}
	c.n += len(evals)
	if len(evals) > handOver {
		c.chunks = append(c.chunks, evals)
		return
	}
	last := len(c.chunks) - 1
	if last < 0 || cap(c.chunks[last])-len(c.chunks[last]) < len(evals) {
		c.chunks = append(c.chunks, make([]*Evaluation, 0, copiedChunk))
		last++
	}
	c.chunks[last] = append(c.chunks[last], evals...)
	clear(evals)
}

// appendTo appends the queued evaluations to a slice, leaving them queued.
func (c *cancelableList) appendTo(to []*Evaluation) []*Evaluation {
	for _, chunk := range c.chunks {
		to = append(to, chunk...)
	}
	return to
}

// take removes up to max evaluations, first in, first out.
func (c *cancelableList) take(max int) []*Evaluation {
	max = min(max, c.n)
	if max <= 0 {
		return nil
	}
	if len(c.chunks[0]) >= max {
		return c.takeOne(max)
	}
	taken := make([]*Evaluation, 0, max)
	for len(taken) < max {
		taken = append(taken, c.takeOne(min(max-len(taken), len(c.chunks[0])))...)
	}
	return taken
}

// takeOne takes from the first chunk, which holds at least n. Its capacity is cut so
// that a caller who appends cannot reach what is still queued.
func (c *cancelableList) takeOne(n int) []*Evaluation {
	first := c.chunks[0]
	if n == len(first) {
		c.chunks[0] = nil
		c.chunks = c.chunks[1:]
	} else {
		c.chunks[0] = first[n:]
	}
	c.n -= n
	return first[:n:n]
}
