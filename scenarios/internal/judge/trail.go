package judge

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"hash/fnv"
	"strings"
	"sync"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/internal/english"
)

// Trail is a running hash of all that happens in a run: each entry that each server applies, with
// the rows that it wrote, and each delivery, ack, nack and flush of the broker, all with their
// instants. Two runs whose digests agree were equal event by event. What different servers do at one
// instant, and different workers, has no order. It passes on what an Observer hears, and is safe for
// concurrent use.
type Trail struct {
	next cluster.Observer

	mu      sync.Mutex
	servers []hash.Hash64 // by number: what it applied, in order
	broker  uint64        // a sum of hashes, which has no order
	events  int
	applied map[life]applied // the last entry
	again   int              // entries that did not come after the one before
	first   string
}

// life is a process of a server.
type life struct{ server, number int }

// applied is an entry that a process applied after so many snapshots of the leader's had led it back.
type applied struct {
	index   uint64
	setBack int
}

var _ cluster.Observer = (*Trail)(nil)

// NewTrail returns a trail of a cluster's events which tells next what it hears.
func NewTrail(servers int, next cluster.Observer) *Trail {
	t := &Trail{next: next, applied: map[life]applied{}}
	for range servers {
		t.servers = append(t.servers, fnv.New64a())
	}
	return t
}

// Applied takes an entry that a server has applied; see cluster.Config.Follow.
func (t *Trail) Applied(a cluster.Applied) {
	at := time.Now().UnixNano()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events++
	process := life{a.Server, a.Life}
	if before := t.applied[process]; a.Index <= before.index && a.SetBack == before.setBack {
		if t.again++; t.again == 1 {
			t.first = fmt.Sprintf("server %d applied %d after %d", a.Server+1, a.Index, before.index)
		}
	}
	t.applied[process] = applied{a.Index, a.SetBack}
	h := t.servers[a.Server]
	fmt.Fprintln(h, at, a.Index, a.Type)
	c := a.State.Changes()
	if c == nil {
		return
	}
	for _, n := range c.Nodes {
		fmt.Fprintln(h, n.ID, n.Status, n.SchedulingEligibility, n.Drain != nil)
	}
	for _, j := range c.Jobs {
		fmt.Fprintln(h, j.Namespace, j.ID, j.Version, j.Stop)
	}
	for _, e := range c.Evals {
		fmt.Fprintln(h, e.ID, e.Status, e.SnapshotIndex)
	}
	for _, l := range c.Allocs {
		fmt.Fprintln(h, l.ID, l.NodeID, l.Name, l.DesiredStatus, l.ClientStatus)
	}
	for _, d := range c.Deployments {
		fmt.Fprintln(h, d.ID, d.Status)
	}
}

// note adds an event of the broker.
func (t *Trail) note(at time.Time, what string, e *broker.Evaluation, took time.Duration, n int) {
	h := fnv.New64a()
	id := ""
	if e != nil {
		id = e.ID
	}
	fmt.Fprintln(h, at.UnixNano(), what, id, took, n)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events++
	t.broker += h.Sum64()
}

func (t *Trail) Dequeued(at time.Time, e *broker.Evaluation, waited time.Duration) {
	t.note(at, "dequeued", e, waited, 0)
	t.next.Dequeued(at, e, waited)
}

func (t *Trail) Acked(at time.Time, e *broker.Evaluation, held time.Duration, shed int) {
	t.note(at, "acked", e, held, shed)
	t.next.Acked(at, e, held, shed)
}

func (t *Trail) Nacked(at time.Time, e *broker.Evaluation) {
	t.note(at, "nacked", e, 0, 0)
	t.next.Nacked(at, e)
}

func (t *Trail) Flushed(at time.Time) {
	t.note(at, "flushed", nil, 0, 0)
	t.next.Flushed(at)
}

// Once returns whether every process applied each entry once, in the order of the log, and again only
// what comes after a snapshot of the leader's that led it back. Most entries change
// nothing when they are applied again, so that the state does not show it.
func (t *Trail) Once() metrics.Invariant {
	t.mu.Lock()
	defer t.mu.Unlock()
	detail := english.Agree(len(t.applied), "process applied entries", "processes applied entries")
	if t.again > 0 {
		detail += fmt.Sprintf("; %d of them again, the first: %s", t.again, t.first)
	}
	return verdict(InvariantOnce, t.again == 0, "%s", detail)
}

// trailMark precedes the digest in the detail of the invariant.
const trailMark = ", digest "

// Verdict returns the number of events and their digest.
func (t *Trail) Verdict() metrics.Invariant {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := sha256.New()
	for _, h := range t.servers {
		all.Write(h.Sum(nil))
	}
	all.Write(binary.BigEndian.AppendUint64(nil, t.broker))
	return verdict(InvariantEvents, true, "%s%s%x", english.Plural(t.events, "event"), trailMark, all.Sum(nil)[:16])
}

// EventsOf finds the digest of a run's events in its Result; empty if it has none.
func EventsOf(res *metrics.Result) string {
	for _, c := range res.Invariants {
		if c.Name == InvariantEvents {
			_, digest, _ := strings.Cut(c.Detail, trailMark)
			return digest
		}
	}
	return ""
}
