package state

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// recount computes the counts and the per-node and per-job rows from the other rows, and
// fails if they differ from the snapshot's.
func recount(t interface {
	Helper()
	Fatalf(string, ...any)
}, s *Snapshot) {
	t.Helper()
	equal := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("at index %d, %s: %+v, counted %+v", s.Index(), what, got, want)
		}
	}
	nodes, dcs, onNode := map[string]int{}, map[string]DCCount{}, map[string]*NodeAllocs{}
	for n := range s.Nodes() {
		nodes[n.Status]++
		dc := dcs[n.Datacenter]
		dc.Nodes++
		if n.Ready() {
			dc.Ready++
		}
		dcs[n.Datacenter] = dc
		onNode[n.ID] = &NodeAllocs{NodeID: n.ID}
	}
	equal("nodes by status", s.NodesByStatusCount(), nodes)
	byIndex := slices.SortedStableFunc(s.Nodes(), func(a, b *rpc.Node) int { return cmp.Compare(a.ModifyIndex, b.ModifyIndex) })
	equal("nodes by change", slices.Collect(s.NodesChangedSince(0)), byIndex)
	equal("nodes by datacenter", s.counts.Datacenters, dcs)

	for j := range s.Jobs() {
		id := broker.JobID{Namespace: j.Namespace, ID: j.ID}
		newest := max(j.ModifyIndex, s.JobAllocs(id).DeletedIndex)
		for _, a := range s.AllocsByJob(id) {
			newest = max(newest, a.ModifyIndex)
		}
		if d := s.DeploymentOf(id); d != nil {
			newest = max(newest, d.ModifyIndex)
		}
		equal("last change of "+j.ID, s.JobChangedAt(id), newest)
	}

	evals, jobs := map[string]uint64{}, map[broker.JobID]*jobSummary{}
	of := func(job broker.JobID) *jobSummary {
		if jobs[job] == nil {
			jobs[job] = &jobSummary{Job: job}
		}
		return jobs[job]
	}
	byType := map[string][]*rpc.Job{}
	for j := range s.Jobs() {
		of(broker.JobID{Namespace: j.Namespace, ID: j.ID})
		byType[j.Type] = append(byType[j.Type], j)
	}
	for _, jobType := range []string{rpc.JobTypeSystem, rpc.JobTypeBatch} {
		equal(jobType+" jobs", s.JobsByType(jobType), byType[jobType])
	}
	equal("jobs", s.counts.Jobs, len(jobs))
	for e := range s.Evals() {
		evals[e.Status]++
		j := of(e.Job())
		j.Evals.Count++
		if e.Status == broker.StatusBlocked {
			j.Blocked = append(j.Blocked, e.ID)
		}
		if e.ModifyIndex > s.JobEvals(e.Job()).MaxModifyIndex {
			t.Fatalf("evaluation %s has ModifyIndex %d, its job's highest is %d", e.ID, e.ModifyIndex, s.JobEvals(e.Job()).MaxModifyIndex)
		}
	}
	equal("evaluations by status", s.EvalsByStatusCount(), evals)
	for _, index := range []uint64{s.Index() / 2, s.Index()} {
		ended := s.evalsWhere(func(e *broker.Evaluation) bool { return e.Terminal() && e.ModifyIndex <= index })
		if got := s.EvalsEnded(index); !slices.Equal(got, ended) {
			t.Fatalf("at index %d, evaluations that ended up to %d: %v, counted %v", s.Index(), index, got, ended)
		}
	}
	live, terminal := 0, 0
	for a := range s.Allocs() {
		j := of(broker.JobID{Namespace: a.Namespace, ID: a.JobID})
		row := onNode[a.NodeID]
		if row == nil {
			row = &NodeAllocs{NodeID: a.NodeID}
			onNode[a.NodeID] = row
		}
		row.All = append(row.All, a)
		if e := s.EvalByID(a.EvalID); e != nil && !s.MayHavePlaced(e) {
			t.Fatalf("evaluation %s of index %d placed %s, and may not have placed any", e.ID, e.CreateIndex, a.ID)
		}
		if a.Terminal() {
			terminal++
			j.Allocs.Terminal++
		} else {
			live++
			j.Allocs.Live++
			row.Live = append(row.Live, a)
			row.Used = row.Used.Add(a.Resources)
		}
	}
	equal("allocations", [2]int{s.counts.AllocsLive, s.counts.AllocsTerminal}, [2]int{live, terminal})

	rowsOnNode := slices.Collect(s.nodeAllocs.all())
	equal("per-node rows", len(rowsOnNode), len(onNode))
	for node, on := range s.NodesWithAllocs() {
		if on != rowsOnNode[0] || node != s.NodeByID(on.NodeID) {
			t.Fatalf("at index %d, side by side: node %+v with the allocations of %s, want %s", s.Index(), node, on.NodeID, rowsOnNode[0].NodeID)
		}
		rowsOnNode = rowsOnNode[1:]
	}
	equal("nodes that are not walked", len(rowsOnNode), 0)
	for id, want := range onNode {
		got := s.NodeAllocs(id)
		if !slices.Equal(got.Live, want.Live) || !slices.Equal(got.All, want.All) || got.Used != want.Used {
			t.Fatalf("at index %d, node %s: %+v, counted %+v", s.Index(), id, got, want)
		}
		modified, asked := uint64(1), uint64(0)
		for _, a := range want.All {
			modified, asked = max(modified, a.ModifyIndex), max(asked, a.AllocModifyIndex)
		}
		equal("what the servers asked of node "+id, [2]bool{got.AskedSince(asked), asked == 0 || got.AskedSince(asked-1)}, [2]bool{false, true})
		if len(want.All) == 0 {
			modified = max(1, s.counts.AllocsIndex)
		}
		equal("answer about node "+id, (&Watch{NodeID: id}).Answer(s), modified)
		of := map[broker.JobID][]*rpc.Allocation{}
		for _, a := range want.All {
			if a.Terminal() {
				of[jobOf(a)] = append(of[jobOf(a)], a)
			}
		}
		for job := range jobs {
			equal("terminal allocations of "+job.ID+" on node "+id, slices.Equal(got.TerminalOf(job), of[job]), true)
		}
	}
	equal("per-job rows", s.summaries.len(), len(jobs))
	for job, want := range jobs {
		got := s.summary(job)
		slices.Sort(want.Blocked)
		blocked := slices.Sorted(slices.Values(got.Blocked))
		equal("blocked evaluations of "+job.ID, len(blocked), len(want.Blocked))
		equal("blocked evaluations of "+job.ID, slices.Equal(blocked, want.Blocked), true)
		equal("evaluations of "+job.ID, got.Evals.Count, want.Evals.Count)
		equal("live allocations of "+job.ID, got.Allocs.Live, want.Allocs.Live)
		equal("terminal allocations of "+job.ID, got.Allocs.Terminal, want.Allocs.Terminal)
		allocs := s.AllocsByJob(job)
		equal("allocations found of "+job.ID, len(allocs), got.Allocs.Live+got.Allocs.Terminal)
		slices.SortStableFunc(allocs, func(a, b *rpc.Allocation) int { return cmp.Compare(a.ModifyIndex, b.ModifyIndex) })
		equal("allocations by change of "+job.ID, slices.Equal(slices.Collect(s.AllocsChangedSince(job, 0)), allocs), true)
	}
}

// change applies one random entry.
func change(rt *rapid.T, s *Store) error {
	index := s.Index() + uint64(rapid.IntRange(1, 3).Draw(rt, "index"))
	snap := s.Snapshot()
	id := func(kind string, n int) string {
		return fmt.Sprintf("%s-%d", kind, rapid.IntRange(0, n).Draw(rt, kind))
	}
	oneOf := func(what string, of ...string) string { return rapid.SampledFrom(of).Draw(rt, what) }
	drain := func() *rpc.DrainStrategy {
		if rapid.Bool().Draw(rt, "drain") {
			return &rpc.DrainStrategy{}
		}
		return nil
	}
	nodeStatus := func() string {
		return oneOf("status", rpc.NodeStatusInit, rpc.NodeStatusReady, rpc.NodeStatusDown, rpc.NodeStatusDisconnected)
	}
	clientStatus := func() string {
		return oneOf("client", rpc.AllocClientPending, rpc.AllocClientRunning, rpc.AllocClientComplete, rpc.AllocClientFailed)
	}
	node := id("node", 4)
	return s.Update(index, func(tx *Tx) error {
		if snap.NodeByID(node) == nil {
			return tx.UpsertNode(&rpc.Node{ID: node, Datacenter: oneOf("dc", "dc1", "dc2"), Status: nodeStatus(), Drain: drain()})
		}
		job := func() broker.JobID { return broker.JobID{Namespace: rpc.DefaultNamespace, ID: id("job", 3)} }
		switch rapid.IntRange(0, 14).Draw(rt, "change") {
		case 0:
			return tx.UpsertNode(&rpc.Node{ID: node, Datacenter: oneOf("dc", "dc1", "dc2"), Status: nodeStatus()})
		case 1:
			return tx.UpdateNodeStatus(node, nodeStatus(), 7, "it changed")
		case 2:
			return tx.UpdateNodeDrain(node, drain(), rapid.Bool().Draw(rt, "eligible"), 7, "")
		case 3:
			return tx.DeleteNode(node)
		case 4:
			return tx.UpsertJob(&rpc.Job{ID: id("job", 3), Type: oneOf("type", rpc.JobTypeSystem, rpc.JobTypeBatch), Priority: rapid.IntRange(1, 3).Draw(rt, "priority")})
		case 5:
			if rapid.Bool().Draw(rt, "purge") {
				return tx.DeleteJob(rpc.DefaultNamespace, id("job", 3))
			}
			return tx.StopJob(rpc.DefaultNamespace, id("job", 3))
		case 6, 7:
			var evals []*broker.Evaluation
			placed := map[string]bool{} // by evaluations, some of which are deleted
			for a := range snap.Allocs() {
				placed[a.EvalID] = true
			}
			for range rapid.IntRange(1, 4).Draw(rt, "evaluations") {
				e := &broker.Evaluation{
					ID: id("eval", 12), Namespace: rpc.DefaultNamespace, JobID: id("job", 3),
					Status: oneOf("status", broker.StatusPending, broker.StatusBlocked, broker.StatusComplete, broker.StatusFailed, broker.StatusCanceled),
				}
				if old := evalByID(snap, e.ID); old != nil {
					e.JobID = old.JobID
				} else if placed[e.ID] {
					continue // no ID is given twice, and here there are few
				}
				if !slices.ContainsFunc(evals, func(x *broker.Evaluation) bool { return x.ID == e.ID }) {
					evals = append(evals, e)
				}
			}
			return tx.UpsertEvals(evals...)
		case 8:
			report := func() *rpc.Allocation {
				return &rpc.Allocation{ID: id("alloc", 12), ClientStatus: clientStatus(), Health: oneOf("health", "", rpc.AllocHealthy, rpc.AllocUnhealthy)}
			}
			tx.UpdateAllocsFromClient(report(), report())
			return nil
		case 9:
			return tx.DeleteEvals([]string{id("eval", 12), id("eval", 12)}, []string{id("alloc", 12), id("alloc", 12)})
		case 10:
			return tx.AddNodeEvents(node, NodeEvent{Message: id("event", 3)})
		case 11:
			tx.NoteLaunch(job(), int64(index), rapid.Bool().Draw(rt, "launched"))
			return nil
		case 12:
			tx.RequestTransitions([]string{id("alloc", 12)}, []string{id("alloc", 12)})
			return nil
		case 13:
			tx.SetSchedulerConfig(rpc.SchedulerConfig{PauseEvalBroker: rapid.Bool().Draw(rt, "paused")})
			return nil
		default:
			return tx.UpsertPlanResults(randomPlan(rt, snap))
		}
	})
}

func randomPlan(rt *rapid.T, snap *Snapshot) *PlanResults {
	r := &PlanResults{UpdatedAt: int64(rapid.IntRange(1, 100).Draw(rt, "time"))}
	deployed := broker.JobID{Namespace: rpc.DefaultNamespace, ID: fmt.Sprintf("job-%d", rapid.IntRange(0, 3).Draw(rt, "deployed"))}
	switch d := snap.DeploymentOf(deployed); {
	case d == nil || rapid.IntRange(0, 3).Draw(rt, "deploy again") == 0:
		r.Deployment = &rpc.Deployment{
			ID: fmt.Sprintf("deployment-%d", snap.Index()), Namespace: deployed.Namespace, JobID: deployed.ID,
			Status: rpc.DeploymentRunning, Groups: []rpc.DeploymentGroup{{Name: "tg", DesiredTotal: 3}},
		}
	case rapid.IntRange(0, 3).Draw(rt, "end") == 0:
		r.DeploymentUpdates = []*rpc.DeploymentUpdate{{Namespace: d.Namespace, JobID: d.JobID, DeploymentID: d.ID, Status: rpc.DeploymentSuccessful}}
	}
	placed := func(a *rpc.Allocation) *rpc.Allocation {
		for e := range snap.Evals() {
			if e.Job() == jobOf(a) {
				a.EvalID = e.ID
			}
		}
		return a
	}
	seen := map[string]bool{}
	for range rapid.IntRange(0, 4).Draw(rt, "allocations") {
		id := fmt.Sprintf("alloc-%d", rapid.IntRange(0, 12).Draw(rt, "alloc"))
		old := snap.AllocByID(id)
		if seen[id] {
			continue
		}
		seen[id] = true
		switch {
		case old == nil:
			a := &rpc.Allocation{
				ID: id, Namespace: rpc.DefaultNamespace, JobID: fmt.Sprintf("job-%d", rapid.IntRange(0, 3).Draw(rt, "of")),
				NodeID: fmt.Sprintf("node-%d", rapid.IntRange(0, 6).Draw(rt, "on")), TaskGroup: "tg",
				Resources: rpc.Resources{CPUMHz: 1 + len(seen)}, DesiredStatus: rpc.AllocDesiredRun, ClientStatus: rpc.AllocClientPending,
			}
			if d := cmp.Or(r.Deployment, snap.DeploymentOf(jobOf(a))); d != nil && d.JobID == a.JobID {
				a.DeploymentID = d.ID
			}
			r.AllocsUpdated = append(r.AllocsUpdated, placed(a))
		case rapid.Bool().Draw(rt, "stop"):
			r.AllocsStopped = append(r.AllocsStopped, AllocDiff{ID: id, DesiredDescription: "test"})
		default:
			changed := old.Copy()
			changed.Resources.MemoryMB++
			r.AllocsUpdated = append(r.AllocsUpdated, placed(changed))
		}
	}
	return r
}

// TestCountsFollowRows applies random entries. The counts must agree with the rows in the
// latest snapshot, in older ones and after a restore. Between them the histories fill every
// table.
func TestCountsFollowRows(t *testing.T) {
	var most [16]int64 // rows of each table
	rapid.Check(t, func(rt *rapid.T) {
		s := New()
		var old []*Snapshot
		var prints []string
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			if err := change(rt, s); err != nil {
				rt.Fatalf("at index %d: %v", s.Index(), err)
			}
			snap := s.Snapshot()
			recount(rt, snap)
			if rapid.IntRange(0, 9).Draw(rt, "keep") == 0 {
				old, prints = append(old, snap), append(prints, snap.Fingerprint())
			}
		}
		for i, snap := range old {
			recount(rt, snap)
			if snap.Fingerprint() != prints[i] {
				rt.Fatalf("the snapshot of index %d changed", snap.Index())
			}
		}
		for i, n := range persistedRows(s.Snapshot()) {
			most[i] = max(most[i], n)
		}
		checkRestore(rt, s)
	})
	for i := range persistedRows(New().Snapshot()) {
		if most[i] == 0 {
			t.Errorf("no history has a row of the table that is %s in a persisted header: draw one", reflect.TypeFor[persistHeader]().Field(i).Name)
		}
	}
}
