package fsm

import "sync"

// Cause is a kind of event in the control plane that should cost the log one entry of a
// type. It is counted where the event happens, before anything is written: what events
// should have cost can then be held against what the log has grown by.
type Cause int

type cause struct {
	entry   Type
	event   string
	entries int64 // that each event costs
}

// maxCauses bounds the number of causes, so that accounts can be copied and compared.
const maxCauses = 64

var causes = make([]cause, 0, maxCauses)

// because declares an event that costs one entry of the type.
func (t Type) because(event string) Cause { return declareCause(cause{t, event, 1}) }

// less declares an event by which one of another cause of the type costs nothing after all.
func (t Type) less(event string) Cause { return declareCause(cause{t, event, -1}) }

func declareCause(c cause) Cause {
	if len(causes) == maxCauses {
		panic("fsm: more causes than an account has room for: raise maxCauses")
	}
	causes = append(causes, c)
	return Cause(len(causes) - 1)
}

// Counters count events since the start of the run, whichever server led, or those of one
// entry. They only grow.
type Counters struct {
	EvalsCreated     uint64
	EvalsProcessed   uint64 // dequeued and acked by a worker
	EvalsCanceled    uint64
	EvalsFailed      uint64
	PlansSubmitted   uint64
	MissedHeartbeats uint64
	NodesDown        uint64
	// EvalsCollected and NodesCollected were deleted from state, being over for long.
	EvalsCollected uint64
	NodesCollected uint64
}

// add adds what an entry of the log can count.
func (c *Counters) add(entry Counters) {
	c.EvalsCreated += entry.EvalsCreated
	c.EvalsCanceled += entry.EvalsCanceled
	c.EvalsFailed += entry.EvalsFailed
	c.NodesDown += entry.NodesDown
	c.EvalsCollected += entry.EvalsCollected
	c.NodesCollected += entry.NodesCollected
}

// Account counts events by Cause.
type Account [maxCauses]uint64

// Expectation is one line of an account of the log: how many entries of a type a kind of
// event should have cost. Entries is negative where an event of another line costs none
// after all.
type Expectation struct {
	Type    string
	Event   string
	Entries int64
}

// Since returns the entries that the log should have gained since an earlier account.
func (a Account) Since(before Account) []Expectation {
	var lines []Expectation
	for i, k := range causes {
		if n := a[i] - before[i]; n != 0 {
			lines = append(lines, Expectation{k.entry.String(), k.event, int64(n) * k.entries})
		}
	}
	return lines
}

// Ledger counts the events of a run, on all of its servers. It is safe for concurrent use;
// the zero value is ready.
type Ledger struct {
	mu      sync.Mutex
	counts  Counters
	account Account
	// counted is the last index whose effect is in counts.
	counted uint64
}

// Apply adds what the entry at an index counts, once for all servers: when the first
// applies it.
func (l *Ledger) Apply(index uint64, entry Counters) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if index > l.counted {
		l.counted = index
		l.counts.add(entry)
	}
}

// Because counts one event of each cause.
func (l *Ledger) Because(because ...Cause) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range because {
		l.account[c]++
	}
}

// Read returns the present figures.
func (l *Ledger) Read() (Counters, Account) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.counts
	c.EvalsProcessed, c.PlansSubmitted = l.account[EvalProcessed], l.account[PlanSubmitted]
	return c, l.account
}

// HeartbeatMissed counts a node that was not heard from in time.
func (l *Ledger) HeartbeatMissed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.counts.MissedHeartbeats++
}
