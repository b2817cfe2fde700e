package scheduler

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// bigWorld has n nodes with ten system jobs in place on each.
func bigWorld(b *testing.B, n int) *world {
	w := newWorld(b)
	for i := range n {
		w.node(fmt.Sprintf("%08x-0000-4000-8000-%012x", uint32(i*2654435761), i), func(n *rpc.Node) {
			n.Resources = rpc.Resources{CPUMHz: 4000, MemoryMB: 8000, DiskMB: 8000}
		})
	}
	for i := range 10 {
		j := w.register(job(rpc.JobTypeSystem, fmt.Sprintf("system-%d", i), 0))
		w.runJob(j.ID)
		w.report(j.ID, rpc.AllocClientRunning, nil)
		w.runJob(j.ID)
	}
	return w
}

func (w *world) attempt(e *broker.Evaluation, c *Cache) Attempt {
	s, err := New(e, c, w.rand)
	w.ok(err)
	return s.Plan(w.store.Snapshot(), w.now)
}

func BenchmarkSystemNoOp(b *testing.B) {
	for _, nodes := range []int{500, 5000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			w := bigWorld(b, nodes)
			e := w.eval("system-3", rpc.JobTypeSystem, broker.TriggeredByNodeUpdate)
			b.ReportAllocs()
			for b.Loop() {
				if w.attempt(e, w.cache).Plan != nil {
					b.Fatal("there is something to do")
				}
			}
		})
	}
}

// BenchmarkSystemNoOpAfterChange changes one node between runs, which then have nothing to do.
func BenchmarkSystemNoOpAfterChange(b *testing.B) {
	w := bigWorld(b, 5000)
	e := w.eval("system-3", rpc.JobTypeSystem, broker.TriggeredByNodeUpdate)
	ids := nodeIDs(w)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		w.status(ids[i%len(ids)], rpc.NodeStatusReady)
		b.StartTimer()
		if w.attempt(e, w.cache).Plan != nil {
			b.Fatal("there is something to do")
		}
	}
}

func nodeIDs(w *world) []string {
	var ids []string
	for n := range w.store.Snapshot().Nodes() {
		ids = append(ids, n.ID)
	}
	return ids
}

// BenchmarkSystemFull looks at 5,000 nodes, as the first evaluation on a server does.
func BenchmarkSystemFull(b *testing.B) {
	w := bigWorld(b, 5000)
	e := w.eval("system-3", rpc.JobTypeSystem, broker.TriggeredByNodeUpdate)
	b.ReportAllocs()
	for b.Loop() {
		w.attempt(e, nil)
	}
}

// BenchmarkSystemPlan plans an allocation on each of 5,000 nodes.
func BenchmarkSystemPlan(b *testing.B) {
	w := bigWorld(b, 5000)
	w.register(job(rpc.JobTypeSystem, "new", 0))
	e := w.eval("new", rpc.JobTypeSystem, broker.TriggeredByJobRegister)
	b.ReportAllocs()
	for b.Loop() {
		if a := w.attempt(e, nil); a.Plan.Size() != 5000 {
			b.Fatalf("%d placements", a.Plan.Size())
		}
	}
}

func BenchmarkEvaluatePlan(b *testing.B) {
	w := bigWorld(b, 5000)
	w.register(job(rpc.JobTypeSystem, "new", 0))
	p := w.attempt(w.eval("new", rpc.JobTypeSystem, broker.TriggeredByJobRegister), nil).Plan
	snap := w.store.Snapshot()
	b.ReportAllocs()
	for b.Loop() {
		if r := EvaluatePlan(snap, p); len(r.RejectedNodes) > 0 {
			b.Fatal("rejected")
		}
	}
}

// BenchmarkServiceNodeDown replaces a service job's allocations on one lost node of 5,000.
func BenchmarkServiceNodeDown(b *testing.B) {
	for _, count := range []int{100, 10_000} {
		b.Run(fmt.Sprintf("count=%d", count), func(b *testing.B) {
			w := bigWorld(b, 5000)
			w.register(job(rpc.JobTypeService, "svc", count))
			w.runJob("svc")
			w.report("svc", rpc.AllocClientRunning, nil)
			w.runJob("svc")
			w.status(w.live("svc")[0].NodeID, rpc.NodeStatusDown)
			e := w.eval("svc", rpc.JobTypeService, broker.TriggeredByNodeUpdate)
			b.ReportAllocs()
			for b.Loop() {
				if w.attempt(e, w.cache).Plan == nil {
					b.Fatal("nothing to do")
				}
			}
		})
	}
}

func BenchmarkServiceNoOp(b *testing.B) {
	w := bigWorld(b, 5000)
	w.register(job(rpc.JobTypeService, "svc", 1000))
	w.runJob("svc")
	w.runJob("svc")
	e := w.eval("svc", rpc.JobTypeService, broker.TriggeredByNodeUpdate)
	b.ReportAllocs()
	for b.Loop() {
		if w.attempt(e, w.cache).Plan != nil {
			b.Fatal("there is something to do")
		}
	}
}

func BenchmarkPlaceService(b *testing.B) {
	w := bigWorld(b, 5000)
	w.register(job(rpc.JobTypeService, "svc", 1000))
	e := w.eval("svc", rpc.JobTypeService, broker.TriggeredByJobRegister)
	snap := w.store.Snapshot()
	b.ReportAllocs()
	for i := uint64(0); b.Loop(); i++ {
		s, err := New(e, w.cache, rand.New(rand.NewPCG(i, i)))
		w.ok(err)
		if a := s.Plan(snap, time.Unix(0, 0)); a.Plan.Size() != 1000 {
			b.Fatalf("%d placements", a.Plan.Size())
		}
	}
}
