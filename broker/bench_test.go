package broker_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/internal/rusage"
	"github.com/simctl/simctl/internal/uuid"
)

const million = 1_000_000

var benchStart = time.Unix(1_700_000_000, 0)

// benchEvaluations makes a million evaluations, spread over the jobs.
func benchEvaluations(jobs int) []*broker.Evaluation {
	rng := rand.New(rand.NewPCG(1, 1))
	evals := make([]*broker.Evaluation, million)
	for i := range evals {
		evals[i] = &broker.Evaluation{
			ID: uuid.Random(rng), Namespace: "default", JobID: fmt.Sprintf("job-%d", i%jobs), Type: "system",
			Priority: 50, Status: broker.StatusPending, TriggeredBy: broker.TriggeredByNodeUpdate,
			CreateIndex: uint64(1000 + i), ModifyIndex: uint64(1000 + i),
		}
	}
	return evals
}

func benchBroker(p broker.Policy) *broker.EvalBroker {
	b := broker.New(broker.Config{Policy: p, Rand: rand.New(rand.NewPCG(1, 1))})
	b.SetEnabled(benchStart, true)
	return b
}

func benchPolicies(b *testing.B, run func(b *testing.B, p broker.Policy)) {
	for _, p := range []broker.Policy{broker.Legacy(), broker.Shedding()} {
		b.Run(p.String(), func(b *testing.B) { run(b, p) })
	}
}

// BenchmarkEnqueue enqueues a million evaluations of ten jobs, over and over. B/pending
// is what the broker then holds for each, besides the evaluation itself.
func BenchmarkEnqueue(b *testing.B) {
	evals := benchEvaluations(10)
	benchPolicies(b, func(b *testing.B, p broker.Policy) {
		b.ReportAllocs()
		watch := rusage.Stopwatch{B: b}
		watch.Start()
		var br *broker.EvalBroker
		for i := range b.N {
			if i%million == 0 {
				watch.Stop()
				br = benchBroker(p)
				runtime.GC()
				watch.Start()
			}
			br.Enqueue(benchStart, evals[i%million])
		}
		watch.Stop()
		watch.Report(b.N)
		br = benchBroker(p)
		before := heapInUse()
		for _, e := range evals {
			br.Enqueue(benchStart, e)
		}
		b.ReportMetric(float64(heapInUse()-before)/million, "B/pending")
		runtime.KeepAlive(br)
	})
}

func heapInUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// BenchmarkDequeueAck dequeues and acks one evaluation. With ten jobs each ack makes the
// next one ready; with a million all are ready from the start.
func BenchmarkDequeueAck(b *testing.B) {
	for _, jobs := range []int{10, million} {
		evals := benchEvaluations(jobs)
		b.Run(fmt.Sprintf("jobs=%d", jobs), func(b *testing.B) {
			b.ReportAllocs()
			schedulers := []string{"service", "batch", "system", "sysbatch"}
			watch := rusage.Stopwatch{B: b}
			watch.Start()
			var br *broker.EvalBroker
			for i := range b.N {
				if i%million == 0 {
					watch.Stop()
					br = benchBroker(broker.Legacy())
					for _, e := range evals {
						br.Enqueue(benchStart, e)
					}
					runtime.GC()
					watch.Start()
				}
				e, token, err := br.Dequeue(benchStart, schedulers)
				if err != nil || e == nil {
					b.Fatalf("dequeue: %v, %v", e, err)
				}
				if _, err := br.Ack(benchStart, e.ID, token); err != nil {
					b.Fatal(err)
				}
			}
			watch.Stop()
			watch.Report(b.N)
		})
	}
}

// BenchmarkShedMillion acks one evaluation of each of ten jobs with a million pending
// and hands all that sheds to the reaper, in its batches. Give it a number of rounds, as
// -benchtime 20x: copying the broker for each takes far longer than what is measured.
func BenchmarkShedMillion(b *testing.B) {
	full := benchBroker(broker.Shedding())
	for _, e := range benchEvaluations(10) {
		full.Enqueue(benchStart, e)
	}
	br, rng := benchBroker(broker.Shedding()), rand.New(rand.NewPCG(1, 1))
	b.ReportAllocs()
	b.ResetTimer()
	watch := rusage.Stopwatch{B: b}
	watch.Start()
	for range b.N {
		watch.Stop()
		full.CloneInto(br, rng)
		watch.Start()
		for range 10 {
			e, token, err := br.Dequeue(benchStart, []string{"system"})
			if err != nil || e == nil {
				b.Fatalf("dequeue: %v, %v", e, err)
			}
			if _, err := br.Ack(benchStart, e.ID, token); err != nil {
				b.Fatal(err)
			}
		}
		shed := 0
		for batch := br.Cancelable(728); len(batch) > 0; batch = br.Cancelable(728) {
			shed += len(batch)
		}
		if shed != million-20 {
			b.Fatalf("%d were shed", shed)
		}
	}
	watch.Stop()
	watch.Report(b.N)
}
