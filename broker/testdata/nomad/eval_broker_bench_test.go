package nomad

import (
	"context"
	"fmt"
	"math/rand"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/hashicorp/nomad/nomad/structs"
)

// The benchmarks of the packages broker and cluster of simctl, under their names there,
// for Nomad's own broker. Copy this file into the directory nomad of a checkout of
// Nomad; docs/benchmarks.md says what to run.
//
// For 1.4.2 take the context away from NewEvalBroker, set benchPolicy to "legacy" and
// benchCycleJobs to 10, and leave out BenchmarkShedMillion.

const (
	benchMillion = 1_000_000
	benchPolicy  = "shedding"
	// A broker that sheds gets a job for each evaluation to cycle through: with ten jobs
	// the first ack of each would shed nearly all.
	benchCycleJobs = benchMillion
)

var benchSchedulers = []string{"service", "batch", "system", "sysbatch"}

func benchEvaluations(jobs int) []*structs.Evaluation {
	rng := rand.New(rand.NewSource(1))
	evals := make([]*structs.Evaluation, benchMillion)
	for i := range evals {
		evals[i] = &structs.Evaluation{
			ID:        fmt.Sprintf("%08x-%04x-4%03x-8%03x-%012x", rng.Uint32(), rng.Uint32()&0xffff, rng.Uint32()&0xfff, rng.Uint32()&0xfff, rng.Uint64()&(1<<48-1)),
			Namespace: "default", JobID: fmt.Sprintf("job-%d", i%jobs), Type: "system",
			Priority: 50, Status: "pending", TriggeredBy: "node-update",
			CreateIndex: uint64(1000 + i), ModifyIndex: uint64(1000 + i),
		}
	}
	return evals
}

func benchBroker(b *testing.B, evals []*structs.Evaluation) *EvalBroker {
	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(cancel)
	br, err := NewEvalBroker(ctx, time.Minute, time.Second, 20*time.Second, 3)
	if err != nil {
		b.Fatal(err)
	}
	br.SetEnabled(true)
	for _, e := range evals {
		br.Enqueue(e)
	}
	runtime.GC()
	return br
}

// benchCPU is the processor time of the benchmark while its timer ran.
type benchCPU struct{ spent, began time.Duration }

func (c *benchCPU) now(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func (c *benchCPU) start(b *testing.B) { c.began = c.now(b); b.StartTimer() }
func (c *benchCPU) stop(b *testing.B)  { b.StopTimer(); c.spent += c.now(b) - c.began }
func (c *benchCPU) report(b *testing.B) {
	b.ReportMetric(float64(c.spent)/float64(b.N), "cpu-ns/op")
}

func BenchmarkEnqueue(b *testing.B) {
	evals := benchEvaluations(10)
	b.Run(benchPolicy, func(b *testing.B) {
		b.ReportAllocs()
		b.StopTimer()
		var cpu benchCPU
		br := benchBroker(b, nil)
		cpu.start(b)
		for i := range b.N {
			if i > 0 && i%benchMillion == 0 {
				cpu.stop(b)
				br.SetEnabled(false)
				br = benchBroker(b, nil)
				cpu.start(b)
			}
			br.Enqueue(evals[i%benchMillion])
		}
		cpu.stop(b)
		cpu.report(b)
		br.SetEnabled(false)
		br = benchBroker(b, nil)
		before := benchHeap()
		for _, e := range evals {
			br.Enqueue(e)
		}
		b.ReportMetric(float64(benchHeap()-before)/benchMillion, "B/pending")
		runtime.KeepAlive(br)
	})
}

func benchHeap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

func BenchmarkEvalServiceCycle(b *testing.B) {
	evals := benchEvaluations(benchCycleJobs)
	b.Run(fmt.Sprintf("jobs=%d", benchCycleJobs), func(b *testing.B) {
		b.ReportAllocs()
		b.StopTimer()
		var cpu benchCPU
		br := benchBroker(b, evals)
		cpu.start(b)
		for i := range b.N {
			if i > 0 && i%benchMillion == 0 {
				cpu.stop(b)
				br.SetEnabled(false)
				br = benchBroker(b, evals)
				cpu.start(b)
			}
			e, token, err := br.Dequeue(benchSchedulers, 0)
			if err != nil || e == nil {
				b.Fatalf("dequeue: %v, %v", e, err)
			}
			if err := br.Ack(e.ID, token); err != nil {
				b.Fatal(err)
			}
		}
		cpu.stop(b)
		cpu.report(b)
		br.SetEnabled(false)
	})
}

func BenchmarkShedMillion(b *testing.B) {
	evals := benchEvaluations(10)
	b.ReportAllocs()
	b.ResetTimer()
	b.StopTimer()
	var cpu benchCPU
	for range b.N {
		br := benchBroker(b, evals)
		cpu.start(b)
		for range 10 {
			e, token, err := br.Dequeue([]string{"system"}, 0)
			if err != nil || e == nil {
				b.Fatalf("dequeue: %v, %v", e, err)
			}
			if err := br.Ack(e.ID, token); err != nil {
				b.Fatal(err)
			}
		}
		shed := 0
		for batch := br.Cancelable(728); len(batch) > 0; batch = br.Cancelable(728) {
			shed += len(batch)
		}
		cpu.stop(b)
		if shed != benchMillion-20 {
			b.Fatalf("%d were shed", shed)
		}
		br.SetEnabled(false)
	}
	cpu.report(b)
}
