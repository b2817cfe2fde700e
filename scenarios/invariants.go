package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/metrics"
)

// Names of the invariants checked at the end of every run; those of placement once for
// every phase that recovered.
const (
	InvariantConserved   = "every evaluation is accounted for"
	InvariantOneInFlight = "at most one evaluation in flight per job"
	InvariantNonePending = "no evaluation left pending"
	InvariantServersSame = "all servers hold the same state"
	InvariantSystemJobs  = "system jobs run on every ready node and nowhere else"
	InvariantServiceJobs = "service jobs have their count"
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
	stats := r.cluster.Stats()
	seen := r.obs.seen()
	r.checkConserved(snaps[0], stats.Counters, seen)
	r.checkOneInFlight(seen)

	b := stats.Broker
	left := b.Ready + b.Unacked + b.Pending + b.Waiting + b.Cancelable
	r.check(InvariantNonePending, left == 0 && stats.StatePending == 0,
		"%d in the broker, %d pending in state", left, stats.StatePending)
	r.checkServersSame(snaps)
}

// settledSnapshots returns the state of every server once they have all applied the same
// index, or after settle as they are.
func (r *run) settledSnapshots() []*state.Snapshot {
	const poll = 50 * time.Millisecond
	for waited := time.Duration(0); ; waited += poll {
		var snaps []*state.Snapshot
		for i := range r.cluster.Servers() {
			snaps = append(snaps, r.cluster.State(i).Snapshot())
		}
		behind := slices.ContainsFunc(snaps, func(s *state.Snapshot) bool { return s.Index() != snaps[0].Index() })
		if !behind || waited >= settle {
			return snaps
		}
		time.Sleep(poll)
	}
}

func (r *run) checkServersSame(snaps []*state.Snapshot) {
	want := snaps[0].Fingerprint()
	for i, s := range snaps[1:] {
		r.world.Alive()
		if s.Index() != snaps[0].Index() || s.Fingerprint() != want {
			r.check(InvariantServersSame, false, "servers 1 and %d differ, at index %d and %d: %s",
				i+2, snaps[0].Index(), s.Index(), state.Diff(snaps[0], s))
			return
		}
	}
	r.check(InvariantServersSame, true, "%s at index %d, fingerprint %.12s", plural(len(snaps), "server"), snaps[0].Index(), want)
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
	var total, processed, unprocessedComplete uint64
	for e := range snap.Evals() {
		total++
		rows[e.Status]++
		if _, acked := s.acked[keyOf(e.ID)]; acked {
			processed++
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
	expect(total == c.EvalsCreated, "state holds %d, but %d were created", total, c.EvalsCreated)
	expect(rows[broker.StatusCanceled] == c.EvalsCanceled, "state holds %d canceled, but %d were canceled", rows[broker.StatusCanceled], c.EvalsCanceled)
	expect(rows[broker.StatusFailed] == c.EvalsFailed, "state holds %d failed, but %d failed", rows[broker.StatusFailed], c.EvalsFailed)
	expect(s.acks == c.EvalsProcessed, "%d acks were seen, but %d evaluations processed", s.acks, c.EvalsProcessed)
	expect(processed == uint64(len(s.acked)), "%d evaluations were acked, of which state holds %d", len(s.acked), processed)
	// A worker completes an evaluation, then acks it; only a change of leader comes between.
	expect(unprocessedComplete == 0 || s.flushes > 0, "%d are complete, but were never acked", unprocessedComplete)

	detail := fmt.Sprintf("%d created = %d complete + %d canceled + %d failed + %d blocked + %d pending; %d processed",
		total, rows[broker.StatusComplete], rows[broker.StatusCanceled], rows[broker.StatusFailed],
		rows[broker.StatusBlocked], rows[broker.StatusPending], processed)
	if len(wrong) > 0 {
		detail += "; but " + strings.Join(wrong, "; ")
	}
	r.check(InvariantConserved, len(wrong) == 0, "%s", detail)
}

// checkPlacement checks what runs where, now that every evaluation is processed.
func (r *run) checkPlacement(phase string) { r.checkPlacementIn(phase, r.leaderState()) }

func (r *run) checkPlacementIn(phase string, snap *state.Snapshot) {
	var ready []*rpc.Node
	isReady := map[string]bool{}
	for n := range snap.Nodes() {
		if n.Ready() {
			ready = append(ready, n)
			isReady[n.ID] = true
		}
	}
	r.checkSystemJobs(phase, snap, ready)
	r.checkServiceJobs(phase, snap, isReady)
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

func (r *run) checkSystemJobs(phase string, snap *state.Snapshot, ready []*rpc.Node) {
	jobs := snap.JobsByType(rpc.JobTypeSystem)
	if len(jobs) == 0 {
		return
	}
	var placed, missing, elsewhere, twice int
	for _, job := range jobs {
		on := liveByNode(snap, job)
		if !job.Stop {
			for _, n := range ready {
				if !job.RunsIn(n.Datacenter) {
					continue
				}
				if on[n.ID] == 0 {
					missing++
				} else {
					placed++
					twice += on[n.ID] - 1
				}
				delete(on, n.ID)
			}
		}
		for _, n := range on {
			elsewhere += n
		}
	}
	r.check(InvariantSystemJobs, missing+elsewhere+twice == 0,
		"after %s: %s on %s: %d allocations run, %d are missing, %d are elsewhere, %d are there twice",
		phase, plural(len(jobs), "job"), plural(len(ready), "ready node"), placed, missing, elsewhere, twice)
}

// checkServiceJobs accepts a job short of its count only if a blocked evaluation says that
// there is no room for the rest.
func (r *run) checkServiceJobs(phase string, snap *state.Snapshot, isReady map[string]bool) {
	jobs := snap.JobsByType(rpc.JobTypeService)
	if len(jobs) == 0 {
		return
	}
	waiting := map[broker.JobID]bool{}
	for _, e := range snap.EvalsByStatus(broker.StatusBlocked) {
		waiting[e.Job()] = true
	}
	var want, running, astray, short, tooMany int
	for _, job := range jobs {
		count := 0
		if !job.Stop {
			for _, g := range job.TaskGroups {
				count += g.Count
			}
		}
		live := 0
		for node, n := range liveByNode(snap, job) {
			live += n
			if !isReady[node] {
				astray += n
			}
		}
		want += count
		running += live
		if live > count {
			tooMany++
		}
		if live < count && !waiting[broker.JobID{Namespace: job.Namespace, ID: job.ID}] {
			short++
		}
	}
	r.check(InvariantServiceJobs, astray+short+tooMany == 0,
		"after %s: %s run %d of %d allocations, %d of them on nodes that are not ready; %s short without waiting for room, %d above their count, %d blocked",
		phase, plural(len(jobs), "job"), running, want, astray, plural(short, "job"), tooMany, len(waiting))
}

// liveByNode counts the job's allocations that run or should, by node.
func liveByNode(snap *state.Snapshot, job *rpc.Job) map[string]int {
	on := map[string]int{}
	for _, a := range snap.AllocsByJob(broker.JobID{Namespace: job.Namespace, ID: job.ID}) {
		if !a.Terminal() {
			on[a.NodeID]++
		}
	}
	return on
}
