package state

import (
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// uuid returns IDs that are as long and as scattered as real ones.
func uuid(kind, n int) string {
	h := uint64(n+1) * 0x9E3779B97F4A7C15
	return fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", uint32(h>>32), uint16(h>>16), h&0xfff, kind, n)
}

// full returns a store with the given nodes, one allocation of each of ten system jobs
// on each of them, and pending evaluations.
func full(tb testing.TB, nodes, evals int) *Store {
	tb.Helper()
	s := New()
	index := uint64(1)
	apply := func(err error) {
		if err != nil {
			tb.Fatal(err)
		}
		index++
	}
	for j := range 10 {
		apply(s.Update(index, func(tx *Tx) error {
			return tx.UpsertJob(&rpc.Job{ID: fmt.Sprintf("system-%d", j), Type: rpc.JobTypeSystem, Priority: 50, Datacenters: []string{"dc1"}})
		}))
	}
	for n := range nodes {
		apply(s.Update(index, func(tx *Tx) error {
			return tx.UpsertNode(&rpc.Node{ID: uuid(1, n), Datacenter: "dc1", Status: rpc.NodeStatusReady})
		}))
	}
	for n := range nodes {
		r := &PlanResults{}
		for j := range 10 {
			r.AllocsUpdated = append(r.AllocsUpdated, &rpc.Allocation{
				ID: uuid(2, n*10+j), Namespace: "default", EvalID: uuid(3, j), Name: fmt.Sprintf("system-%d.g[0]", j),
				NodeID: uuid(1, n), JobID: fmt.Sprintf("system-%d", j), JobType: rpc.JobTypeSystem, TaskGroup: "g",
				Resources: rpc.Resources{CPUMHz: 10}, DesiredStatus: rpc.AllocDesiredRun, ClientStatus: rpc.AllocClientPending,
			})
		}
		apply(s.Update(index, func(tx *Tx) error { return tx.UpsertPlanResults(r) }))
	}
	for e := 0; e < evals; e += 10 {
		var batch []*broker.Evaluation
		for j := range 10 {
			batch = append(batch, benchEval(e+j))
		}
		apply(s.Update(index, func(tx *Tx) error { return tx.UpsertEvals(batch...) }))
	}
	return s
}

func benchEval(n int) *broker.Evaluation {
	return &broker.Evaluation{
		ID: uuid(3, n), Namespace: "default", JobID: fmt.Sprintf("system-%d", n%10), Type: rpc.JobTypeSystem,
		Priority: 50, TriggeredBy: broker.TriggeredByNodeUpdate, NodeID: uuid(1, n/10), Status: broker.StatusPending,
	}
}

// BenchmarkUpsertEval completes one pending evaluation of 100,000 per log entry.
func BenchmarkUpsertEval(b *testing.B) {
	const evals = 100_000
	s := full(b, 100, evals)
	index := s.Index()
	b.ReportAllocs()
	defer reportCPU(b)()
	for i := 0; b.Loop(); i++ {
		e := benchEval(i % evals)
		e.Status = broker.StatusComplete
		if i/evals%2 == 1 {
			e.Status = broker.StatusPending
		}
		index++
		if err := s.Update(index, func(tx *Tx) error { return tx.UpsertEvals(e) }); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCancelBatch cancels 728 pending evaluations in one log entry.
func BenchmarkCancelBatch(b *testing.B) {
	const evals, batch = 100_000, 728
	s := full(b, 100, evals)
	index := s.Index()
	b.ReportAllocs()
	defer reportCPU(b)()
	for i := 0; b.Loop(); i++ {
		var evs []*broker.Evaluation
		for j := range batch {
			e := benchEval((i*batch + j) % evals)
			e.Status = broker.StatusCanceled
			evs = append(evs, e)
		}
		index++
		if err := s.Update(index, func(tx *Tx) error { return tx.UpsertEvals(evs...) }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/batch, "ns/eval")
}

// BenchmarkClientUpdate reports one allocation of 50,000 per log entry.
func BenchmarkClientUpdate(b *testing.B) {
	s := full(b, 5000, 0)
	index := s.Index()
	b.ReportAllocs()
	defer reportCPU(b)()
	for i := 0; b.Loop(); i++ {
		status := [2]string{rpc.AllocClientRunning, rpc.AllocClientPending}[i/50_000%2]
		index++
		if err := s.Update(index, func(tx *Tx) error {
			tx.UpdateAllocsFromClient(&rpc.Allocation{ID: uuid(2, i%50_000), ClientStatus: status})
			return nil
		}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNodeStatus flips one node of 5,000 per log entry.
func BenchmarkNodeStatus(b *testing.B) {
	s := full(b, 5000, 0)
	index := s.Index()
	b.ReportAllocs()
	defer reportCPU(b)()
	for i := 0; b.Loop(); i++ {
		status := [2]string{rpc.NodeStatusDown, rpc.NodeStatusReady}[i/5000%2]
		index++
		if err := s.Update(index, func(tx *Tx) error { return tx.UpdateNodeStatus(uuid(1, i%5000), status, int64(i), "") }); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSnapshot(b *testing.B) {
	s := full(b, 100, 1000)
	b.ReportAllocs()
	defer reportCPU(b)()
	for b.Loop() {
		s.Snapshot()
	}
}

// BenchmarkMemory reports what a store of 5,000 nodes, 50,000 allocations and 100,000
// evaluations keeps in memory.
func BenchmarkMemory(b *testing.B) {
	for b.Loop() {
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		s := full(b, 5000, 100_000)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB")
		runtime.KeepAlive(s)
	}
}

func BenchmarkPersist(b *testing.B) {
	snap := full(b, 5000, 100_000).Snapshot()
	for b.Loop() {
		if err := snap.Persist(io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFingerprint(b *testing.B) {
	snap := full(b, 5000, 100_000).Snapshot()
	for b.Loop() {
		snap.Fingerprint()
	}
}
