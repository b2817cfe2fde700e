package broker

// Quirks are defects of Nomad's broker that this one can reproduce, to show their effect.
// The zero value has none of them.
type Quirks struct {
	// LastSlotPeek compares scheduler types by the priority in the last slot of their
	// ready heap instead of the first, so that a lower priority may go first
	// (nomad/eval_broker.go, PendingEvaluations.Peek, 1.4.2 to at least 2.0.5).
	LastSlotPeek bool
	// DedupLeak keeps the ID of each shed evaluation until the broker is disabled, so that
	// memory grows and the ID cannot be enqueued again (nomad/eval_broker.go,
	// EvalBroker.evals, from 1.4.3).
	DedupLeak bool
	// SilentTimings does not time an evaluation that is enqueued while 10,000 others are
	// in the enqueue-time map. Shed ones never leave it, so that the metrics wait_time,
	// process_time and response_time fall silent (nomad/eval_broker.go,
	// EvalBroker.enqueuedTime, from 1.8.0).
	SilentTimings bool
}

// maxTimed bounds Nomad's enqueue-time map.
const maxTimed = 10_000

// WithQuirks returns the policy for a broker that has the defects as well. Its name is
// that of the policy with those of the defects after plus signs.
func WithQuirks(p Policy, q Quirks) Policy {
	if q == (Quirks{}) {
		return p
	}
	return quirky{p, q}
}

type quirky struct {
	Policy
	quirks Quirks
}

// defects are the words for the quirks, in the order in which a name has them.
var defects = []struct {
	word, description string
	of                func(q *Quirks) *bool
}{
	{"last-slot-peek", "scheduler types are compared by the last slot of their ready heap, not the top (Nomad, all versions)", func(q *Quirks) *bool { return &q.LastSlotPeek }},
	{"dedup-leak", "the IDs of shed evaluations are never forgotten (Nomad since 1.4.3)", func(q *Quirks) *bool { return &q.DedupLeak }},
	{"silent-timings", "timing stops after 10,000 evaluations were shed (Nomad since 1.8.0)", func(q *Quirks) *bool { return &q.SilentTimings }},
}

// add turns on the defect of that name and reports true, unless there is none or it is on
// already.
func (q *Quirks) add(word string) bool {
	for _, d := range defects {
		if on := d.of(q); d.word == word && !*on {
			*on = true
			return true
		}
	}
	return false
}

func (q quirky) String() string {
	name := q.Policy.String()
	for _, d := range defects {
		if *d.of(&q.quirks) {
			name += "+" + d.word
		}
	}
	return name
}

// WithoutQuirks is the inverse of WithQuirks, however often that was applied.
func WithoutQuirks(p Policy) (Policy, Quirks) {
	var all Quirks
	for {
		q, ok := p.(quirky)
		if !ok {
			return p, all
		}
		all.LastSlotPeek = all.LastSlotPeek || q.quirks.LastSlotPeek
		all.DedupLeak = all.DedupLeak || q.quirks.DedupLeak
		all.SilentTimings = all.SilentTimings || q.quirks.SilentTimings
		p = q.Policy
	}
}

// leaks is what a broker with quirks remembers.
type leaks struct {
	shedIDs  map[string]struct{}
	enqueues map[string]struct{}
}

func (l *leaks) remembers(id string) bool {
	_, ok := l.shedIDs[id]
	return ok
}

func (l *leaks) enqueued(q Quirks, id string) {
	if !q.SilentTimings || len(l.enqueues) >= maxTimed {
		return
	}
	if l.enqueues == nil {
		l.enqueues = make(map[string]struct{})
	}
	l.enqueues[id] = struct{}{}
}

func (l *leaks) timed(q Quirks, id string) bool {
	if !q.SilentTimings {
		return true
	}
	_, ok := l.enqueues[id]
	return ok
}

// ended is called after whatever an ack or nack enqueues, as in Nomad: the slot that it
// frees in the enqueue-time map is not for the job's next evaluation.
func (l *leaks) ended(id string) { delete(l.enqueues, id) }

func (l *leaks) shed(q Quirks, evals []*Evaluation) {
	if !q.DedupLeak {
		return
	}
	if l.shedIDs == nil {
		l.shedIDs = make(map[string]struct{})
	}
	for _, e := range evals {
		l.shedIDs[e.ID] = struct{}{}
	}
}
