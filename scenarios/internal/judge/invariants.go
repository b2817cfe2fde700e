package judge

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/internal/english"
)

// Names of the invariants, which are checked at the end of every run. InvariantOracle, which
// Results call convergence, is also checked after every phase that recovered.
const (
	InvariantConserved   = "every evaluation is accounted for"
	InvariantOneInFlight = "at most one evaluation in flight per job"
	InvariantNonePending = "no evaluation left pending"
	InvariantServersSame = "all servers hold the same state"
	InvariantOracle      = "convergence"
	InvariantLogsSame    = "the servers' Raft logs agree"
	InvariantNothingLost = "no acknowledged write was lost"
)

// WholeRun is what AsOracle is told of a state at the end of a run, in the place of a phase.
const WholeRun = "the run"

func verdict(name string, ok bool, format string, args ...any) metrics.Invariant {
	return metrics.Invariant{Name: name, OK: ok, Detail: fmt.Sprintf(format, args...)}
}

// NonePending checks that neither the broker nor the state holds a pending evaluation.
func NonePending(s cluster.Stats) metrics.Invariant {
	left := inBroker(s)
	return verdict(InvariantNonePending, left == 0 && s.StatePending == 0, "%d in the broker, %d pending in state", left, s.StatePending)
}

// Logs checks that the servers' logs agree and have every acknowledged write.
func Logs(a cluster.Agreement) []metrics.Invariant {
	check := func(name string, err error, detail string) metrics.Invariant {
		if err != nil {
			detail = err.Error()
		}
		return verdict(name, err == nil, "%s", detail)
	}
	return []metrics.Invariant{
		check(InvariantLogsSame, a.Logs, fmt.Sprintf("up to entry %d", a.UpTo)),
		check(InvariantNothingLost, a.Lost, english.Agree(a.Acked, "acknowledged, every server has it", "acknowledged, every server has them")),
	}
}

// inBroker counts the evaluations in the broker. It leaves out those that wait, which are
// pending in state, and those of the leader's garbage collection, which are in no state.
func inBroker(s cluster.Stats) int {
	b, core := s.Broker, s.Broker.ByScheduler[rpc.JobTypeCore]
	return b.Ready + b.Unacked + b.Pending + b.Cancelable - core.Ready - core.Unacked
}

// ServersSame checks that all servers hold the same state. It calls alive between two long
// computations.
func ServersSame(snaps []*state.Snapshot, alive func()) metrics.Invariant {
	prints := fingerprints(snaps)
	alive()
	for i, s := range snaps[1:] {
		if s.Index() != snaps[0].Index() || prints[i+1] != prints[0] {
			return verdict(InvariantServersSame, false, "servers 1 and %d differ, at index %d and %d: %s",
				i+2, snaps[0].Index(), s.Index(), state.Diff(snaps[0], s))
		}
		if s != snaps[0] && s.Image() != snaps[0].Image() {
			return verdict(InvariantServersSame, false, "servers 1 and %d have the same rows at index %d, but differ in what is kept beside them", i+2, s.Index())
		}
	}
	return verdict(InvariantServersSame, true, "%s at index %d, fingerprint %.12s", english.Plural(len(snaps), "server"), snaps[0].Index(), prints[0])
}

// fingerprints hashes the states side by side, on all processors: the run is over, and its
// goroutines wait. It hashes a state that servers share once.
func fingerprints(snaps []*state.Snapshot) []string {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(runtime.NumCPU()))
	prints := make([]string, len(snaps))
	var all sync.WaitGroup
	for i, s := range snaps {
		if slices.Index(snaps, s) == i {
			all.Go(func() { prints[i] = s.Fingerprint() })
		}
	}
	all.Wait()
	for i, s := range snaps {
		prints[i] = prints[slices.Index(snaps, s)]
	}
	return prints
}

// OneInFlight checks that no two workers had evaluations of one job at the same time.
func OneInFlight(s Seen) metrics.Invariant {
	if s.twice > 0 {
		return verdict(InvariantOneInFlight, false, "%s together with another of the same job; the first was %s",
			english.Agree(s.twice, "evaluation was in flight", "evaluations were in flight"), s.first)
	}
	return verdict(InvariantOneInFlight, true, "%s, none beside another of its job", english.Plural(s.acks, "ack"))
}

// Conserved compares three independent accounts: the rows of the state, the counters
// kept while entries were applied, and the acks the broker's observer saw.
func Conserved(snap *state.Snapshot, stats cluster.Stats, s Seen) metrics.Invariant {
	c := stats.Counters
	rows := map[string]uint64{}
	var total, processed, unprocessedComplete, canceledToo, returned uint64
	for e := range snap.Evals() {
		total++
		rows[e.Status]++
		back := e.StatusDescription == state.DescReturned // whatever had become of it
		if back {
			returned++
		}
		if s.acked.Has(e.ID) {
			processed++
			// An evaluation that waits for room may be processed, wait again, and be canceled.
			if e.Status == broker.StatusCanceled && !back && e.TriggeredBy != broker.TriggeredByQueuedAllocs && e.TriggeredBy != broker.TriggeredByMaxPlans {
				canceledToo++
			}
		} else if e.Status == broker.StatusComplete {
			unprocessedComplete++
		}
	}
	were := func(n uint64) string { return english.Agree(n, "was", "were") }
	var wrong []string
	expect := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	// Collected evaluations of any status are missing.
	gone := c.EvalsCollected
	adds := func(held, all uint64) bool { return held <= all && all <= held+gone }
	expect(total+gone == c.EvalsCreated, "state holds %d, but %s created (and %d collected)", total, were(c.EvalsCreated), gone)
	expect(adds(rows[broker.StatusCanceled], c.EvalsCanceled), "state holds %d canceled, but %s canceled", rows[broker.StatusCanceled], were(c.EvalsCanceled))
	failed := rows[broker.StatusFailed]
	expect(failed <= c.EvalsFailed && c.EvalsFailed <= failed+gone+returned, "state holds %d failed, but %d failed", failed, c.EvalsFailed)
	expect(s.acks == c.EvalsProcessed, "%s seen, but %s processed", english.Agree(s.acks, "ack was", "acks were"), english.Plural(c.EvalsProcessed, "evaluation"))
	expect(adds(processed, uint64(s.acked.Len())), "%s acked, of which state holds %d", english.Agree(s.acked.Len(), "evaluation was", "evaluations were"), processed)
	expect(canceledToo == 0, "%s both processed and canceled", were(canceledToo))
	// A worker completes an evaluation and then acks it. Only a change of leader comes between, or the end.
	expect(unprocessedComplete <= uint64(inBroker(stats)) || s.flushes > 0, "%s never acked", english.Agree(unprocessedComplete, "is complete, but was", "are complete, but were"))

	detail := fmt.Sprintf("%d created = %d complete + %d canceled + %d failed + %d blocked + %d pending; %d processed",
		c.EvalsCreated, rows[broker.StatusComplete], rows[broker.StatusCanceled], rows[broker.StatusFailed],
		rows[broker.StatusBlocked], rows[broker.StatusPending], processed)
	if gone > 0 {
		detail += fmt.Sprintf("; %d collected", gone)
	}
	if len(wrong) > 0 {
		detail += "; but " + strings.Join(wrong, "; ")
	}
	return verdict(InvariantConserved, len(wrong) == 0, "%s", detail)
}

// NoneWritten is Conserved for servers that write no evaluations: the state has none, and acks
// are counted alike by the leader and by the observer.
func NoneWritten(snap *state.Snapshot, stats cluster.Stats, s Seen) metrics.Invariant {
	c := stats.Counters
	ok := snap.EvalTotal() == 0 && c.EvalsCreated == 0 && s.acks == c.EvalsProcessed
	return verdict(InvariantConserved, ok, "no evaluation is written, and state holds %d of %d created; %s seen, and %s counted",
		snap.EvalTotal(), c.EvalsCreated, english.Agree(s.acks, "ack was", "acks were"), english.Agree(c.EvalsProcessed, "look at a job", "looks at jobs"))
}

// AsOracle checks that what runs is what the oracle expects. Every evaluation must have been
// processed.
func AsOracle(when string, snap *state.Snapshot, waiting cluster.Waiting) metrics.Invariant {
	o := consult(snap, waiting)
	return verdict(InvariantOracle, o.ok(), "after %s: %v", when, o)
}
