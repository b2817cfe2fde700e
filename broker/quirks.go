package broker

import "maps"

// Quirks is a set of defects of Nomad's broker that this one can reproduce, to show their
// effect. The zero value is the empty set.
type Quirks uint8

const (
	// LastSlotPeek compares scheduler types by the priority in the last slot of their
	// ready heap instead of the first, so that a lower priority may go first
	// (nomad/eval_broker.go, PendingEvaluations.Peek, 1.4.2 to at least 2.0.5).
	LastSlotPeek Quirks = 1 << iota
	// DedupLeak keeps the ID of each shed evaluation until the broker is disabled, so that
	// memory grows and the ID cannot be enqueued again (nomad/eval_broker.go,
	// EvalBroker.evals, from 1.4.3).
	DedupLeak
	// SilentTimings does not time an evaluation that is enqueued while 10,000 others are
	// in the enqueue-time map. Shed ones never leave it, so that the metrics wait_time,
	// process_time and response_time fall silent (nomad/eval_broker.go,
	// EvalBroker.enqueuedTime, from 1.8.0).
	SilentTimings
)

// maxTimed bounds Nomad's enqueue-time map.
const maxTimed = 10_000

// defects are the words for the quirks, in the order in which a name has them.
var defects = []struct {
	word, description string
	quirk             Quirks
}{
	{"last-slot-peek", "scheduler types are compared by the last slot of their ready heap, not the top (Nomad, all versions)", LastSlotPeek},
	{"dedup-leak", "the IDs of shed evaluations are never forgotten (Nomad since 1.4.3)", DedupLeak},
	{"silent-timings", "timing stops after 10,000 evaluations were shed (Nomad since 1.8.0)", SilentTimings},
}

// WithQuirks returns the policy for a broker that has the defects as well. Its name is
// that of the policy with those of the defects after plus signs.
func WithQuirks(p Policy, q Quirks) Policy {
	if q == 0 {
		return p
	}
	return quirky{p, q}
}

// WithoutQuirks is the inverse of WithQuirks, however often that was applied.
func WithoutQuirks(p Policy) (Policy, Quirks) {
	var all Quirks
	for {
		q, ok := p.(quirky)
		if !ok {
			return p, all
		}
		p, all = q.Policy, all|q.quirks
	}
}

type quirky struct {
	Policy
	quirks Quirks
}

func (q quirky) String() string {
	name := q.Policy.String()
	for _, d := range defects {
		if q.quirks.has(d.quirk) {
			name += "+" + d.word
		}
	}
	return name
}

func (q Quirks) has(quirk Quirks) bool { return q&quirk != 0 }

// add adds the defect of that name and reports true, unless there is none or the set has it.
func (q *Quirks) add(word string) bool {
	for _, d := range defects {
		if d.word == word && !q.has(d.quirk) {
			*q |= d.quirk
			return true
		}
	}
	return false
}

// leaks is what a broker with quirks remembers, by ID.
type leaks struct {
	quirks   Quirks
	shedIDs  map[string]bool
	enqueues map[string]bool // Nomad's enqueue-time map
}

func newLeaks(q Quirks) leaks {
	if q == 0 {
		return leaks{} // so that a clone has nothing to copy
	}
	return leaks{q, map[string]bool{}, map[string]bool{}}
}

func (l *leaks) clone() leaks { return leaks{l.quirks, maps.Clone(l.shedIDs), maps.Clone(l.enqueues)} }

func (l *leaks) remembers(id string) bool { return l.shedIDs[id] }

func (l *leaks) enqueued(id string) {
	if l.quirks.has(SilentTimings) && len(l.enqueues) < maxTimed {
		l.enqueues[id] = true
	}
}

func (l *leaks) timed(id string) bool { return !l.quirks.has(SilentTimings) || l.enqueues[id] }

// ended is called after whatever an ack or nack enqueues, as in Nomad: the slot that it
// frees in the enqueue-time map is not for the job's next evaluation.
func (l *leaks) ended(id string) { delete(l.enqueues, id) }

func (l *leaks) shed(evals []*Evaluation) {
	if !l.quirks.has(DedupLeak) {
		return
	}
	for _, e := range evals {
		l.shedIDs[e.ID] = true
	}
}
