package scenarios

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/metrics"
)

// Names of the invariants checked at the end of every run. That of convergence, that what
// runs is what jobs and nodes ask for, is also checked after every phase that recovered.
const (
	InvariantConserved   = "every evaluation is accounted for"
	InvariantOneInFlight = "at most one evaluation in flight per job"
	InvariantNonePending = "no evaluation left pending"
	InvariantServersSame = "all servers hold the same state"
	InvariantConvergence = "convergence"
	InvariantLogsSame    = "the servers' Raft logs agree"
	InvariantNothingLost = "no acknowledged write was lost"
)

// settle is how long servers may take to apply what their leader has committed.
const settle = time.Minute

func (r *run) check(name string, ok bool, format string, args ...any) {
	r.checks = append(r.checks, metrics.Invariant{Name: name, OK: ok, Detail: fmt.Sprintf(format, args...)})
}

// checkEnd checks what must hold at the end of a run. The fleet has stopped; nothing
// changes any more but what the servers have still to apply.
func (r *run) checkEnd() {
	snaps := r.settledSnapshots()
	r.world.Alive()
	r.checkPlacement("the run", snaps[0], r.cluster.BlockedSince())
	stats := r.cluster.Stats()
	seen := r.obs.seen()
	r.checkConserved(snaps[0], stats.Counters, seen)
	r.checkOneInFlight(seen)

	left := inBroker(stats)
	r.check(InvariantNonePending, left == 0 && stats.StatePending == 0,
		"%d in the broker, %d pending in state", left, stats.StatePending)
	r.checkServersSame(snaps)
	r.world.Alive()
	r.checkLogs(r.cluster.CheckLogs())
}

func (r *run) checkLogs(a cluster.Agreement) {
	verdict := func(name string, err error, detail string) {
		if err != nil {
			detail = err.Error()
		}
		r.check(name, err == nil, "%s", detail)
	}
	verdict(InvariantLogsSame, a.Logs, fmt.Sprintf("up to entry %d", a.UpTo))
	verdict(InvariantNothingLost, a.Lost, fmt.Sprintf("%d acknowledged, every server has them", a.Acked))
}

// rest waits, for settle at most, until nothing is left to do and every server has applied
// the same index. No node goes down any more meanwhile, nor while the checks look: that takes
// no virtual time, but wall time, and on a scaled clock a few hundred milliseconds are many
// heartbeats.
func (r *run) rest() {
	r.cluster.HoldNodes()
	const poll = 50 * time.Millisecond
	for waited := time.Duration(0); waited < settle; waited += poll {
		s := r.cluster.Stats()
		if s.Leader != "" && inBroker(s)+s.StatePending == 0 && !behind(r.snapshots()) {
			return
		}
		time.Sleep(poll)
	}
}

// inBroker counts what the broker holds. One that waits is pending in state; the leader's own
// evaluations for garbage collection, which no state holds, do not count, wherever they are.
func inBroker(s cluster.Stats) int {
	b, core := s.Broker, s.Broker.ByScheduler[rpc.JobTypeCore]
	return b.Ready + b.Unacked + b.Pending + b.Cancelable - core.Ready - core.Unacked
}

// snapshots returns the state of every server.
func (r *run) snapshots() []*state.Snapshot {
	var snaps []*state.Snapshot
	for i := range r.cluster.Servers() {
		snaps = append(snaps, r.cluster.State(i).Snapshot())
	}
	return snaps
}

// behind reports whether some server has applied less than others.
func behind(snaps []*state.Snapshot) bool {
	return slices.ContainsFunc(snaps, func(s *state.Snapshot) bool { return s.Index() != snaps[0].Index() })
}

// settledSnapshots returns the state of every server once they have all applied the same
// index, or after settle as they are.
func (r *run) settledSnapshots() []*state.Snapshot {
	const poll = 50 * time.Millisecond
	for waited := time.Duration(0); ; waited += poll {
		snaps := r.snapshots()
		if !behind(snaps) || waited >= settle {
			return snaps
		}
		time.Sleep(poll)
	}
}

func (r *run) checkServersSame(snaps []*state.Snapshot) {
	prints := fingerprints(snaps)
	r.world.Alive()
	for i, s := range snaps[1:] {
		if s.Index() != snaps[0].Index() || prints[i+1] != prints[0] {
			r.check(InvariantServersSame, false, "servers 1 and %d differ, at index %d and %d: %s",
				i+2, snaps[0].Index(), s.Index(), state.Diff(snaps[0], s))
			return
		}
	}
	r.check(InvariantServersSame, true, "%s at index %d, fingerprint %.12s", plural(len(snaps), "server"), snaps[0].Index(), prints[0])
}

// fingerprints hashes the states side by side, on as many processors as there are: the
// run is over, and everybody else in it waits.
func fingerprints(snaps []*state.Snapshot) []string {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.NumCPU()))
	prints := make([]string, len(snaps))
	var all sync.WaitGroup
	for i, s := range snaps {
		all.Go(func() { prints[i] = s.Fingerprint() })
	}
	all.Wait()
	return prints
}

func (r *run) checkOneInFlight(s seen) {
	if s.twice > 0 {
		r.check(InvariantOneInFlight, false, "%d evaluations were in flight together with another of their job; the first was %s", s.twice, s.first)
		return
	}
	r.check(InvariantOneInFlight, true, "%d acks, none beside another of its job", s.acks)
}

// checkConserved compares three independent accounts: the rows of the state, the counters
// kept while entries were applied, and the acks the broker's observer saw.
func (r *run) checkConserved(snap *state.Snapshot, c cluster.Counters, s seen) {
	rows := map[string]uint64{}
	var total, processed, unprocessedComplete, canceledToo uint64
	for e := range snap.Evals() {
		total++
		rows[e.Status]++
		if _, acked := s.acked[keyOf(e.ID)]; acked {
			processed++
			// One that waited for room may be processed, wait again and be replaced by a newer.
			if e.Status == broker.StatusCanceled && e.TriggeredBy != broker.TriggeredByQueuedAllocs && e.TriggeredBy != broker.TriggeredByMaxPlans {
				canceledToo++
			}
		} else if e.Status == broker.StatusComplete {
			unprocessedComplete++
		}
	}
	var wrong []string
	expect := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	// What was collected is gone, whatever its status was.
	gone := c.EvalsCollected
	adds := func(held, all uint64) bool { return held <= all && all <= held+gone }
	expect(total+gone == c.EvalsCreated, "state holds %d, but %d were created (and %d collected)", total, c.EvalsCreated, gone)
	expect(adds(rows[broker.StatusCanceled], c.EvalsCanceled), "state holds %d canceled, but %d were canceled", rows[broker.StatusCanceled], c.EvalsCanceled)
	expect(adds(rows[broker.StatusFailed], c.EvalsFailed), "state holds %d failed, but %d failed", rows[broker.StatusFailed], c.EvalsFailed)
	expect(s.acks == c.EvalsProcessed, "%d acks were seen, but %d evaluations processed", s.acks, c.EvalsProcessed)
	expect(adds(processed, uint64(len(s.acked))), "%d evaluations were acked, of which state holds %d", len(s.acked), processed)
	expect(canceledToo == 0, "%d were both processed and canceled", canceledToo)
	// A worker completes an evaluation, then acks it; only a change of leader comes between.
	expect(unprocessedComplete == 0 || s.flushes > 0, "%d are complete, but were never acked", unprocessedComplete)

	detail := fmt.Sprintf("%d created = %d complete + %d canceled + %d failed + %d blocked + %d pending; %d processed",
		c.EvalsCreated, rows[broker.StatusComplete], rows[broker.StatusCanceled], rows[broker.StatusFailed],
		rows[broker.StatusBlocked], rows[broker.StatusPending], processed)
	if gone > 0 {
		detail += fmt.Sprintf("; %d collected", gone)
	}
	if len(wrong) > 0 {
		detail += "; but " + strings.Join(wrong, "; ")
	}
	r.check(InvariantConserved, len(wrong) == 0, "%s", detail)
}

// checkPlacement compares what runs with the reference, now that every evaluation is
// processed. Room has been announced since an index.
func (r *run) checkPlacement(when string, snap *state.Snapshot, since uint64) {
	r.world.Alive()
	o := converged(snap, since)
	r.check(InvariantConvergence, o.ok(), "after %s: %v", when, o)
}

// leaderState returns the state of a server that has applied the most.
func (r *run) leaderState() *state.Snapshot {
	best := r.cluster.State(0).Snapshot()
	for i := 1; i < r.cluster.Servers(); i++ {
		if s := r.cluster.State(i).Snapshot(); s.Index() > best.Index() {
			best = s
		}
	}
	return best
}
