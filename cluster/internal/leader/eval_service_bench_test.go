package leader_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/internal/rusage"
)

const million = 1_000_000

func benchEvaluations(jobs int) []*broker.Evaluation {
	evals := make([]*broker.Evaluation, million)
	for i := range evals {
		evals[i] = &broker.Evaluation{
			ID: fmt.Sprintf("%08x-0000-4000-8000-%012x", uint32(i*2654435761), i), Namespace: "default",
			JobID: fmt.Sprintf("job-%d", i%jobs), Type: "system", Priority: 50,
			CreateIndex: uint64(i), ModifyIndex: uint64(i),
		}
	}
	return evals
}

func benchService(evals []*broker.Evaluation) *leader.EvalService {
	s := leader.NewEvalService(broker.Config{Rand: rand.New(rand.NewPCG(1, 1))})
	s.SetEnabled(true)
	for _, e := range evals {
		s.Enqueue(e)
	}
	runtime.GC()
	return s
}

func cycle(b *testing.B, s *leader.EvalService, schedulers []string) {
	e, token, err := s.Dequeue(b.Context(), schedulers, 0)
	if err != nil {
		b.Error(err)
		return
	}
	if _, err := s.Ack(e.ID, token); err != nil {
		b.Error(err)
	}
}

// BenchmarkEvalServiceCycle dequeues and acks one evaluation of a million, through the
// blocking service and on the real clock.
func BenchmarkEvalServiceCycle(b *testing.B) {
	schedulers := []string{"service", "batch", "system", "sysbatch"}
	for _, jobs := range []int{10, million} {
		evals := benchEvaluations(jobs)
		b.Run(fmt.Sprintf("jobs=%d", jobs), func(b *testing.B) {
			b.ReportAllocs()
			watch := rusage.Stopwatch{B: b}
			watch.Start()
			var s *leader.EvalService
			for i := range b.N {
				if i%million == 0 {
					watch.Stop()
					if s != nil {
						s.Close()
					}
					s = benchService(evals)
					watch.Start()
				}
				cycle(b, s, schedulers)
			}
			watch.Stop()
			watch.Report(b.N)
			s.Close()
		})
	}
}

// BenchmarkEvalServiceWorkers has 32 workers wait for what one producer enqueues, so that
// nearly every evaluation is handed to a worker that is blocked.
func BenchmarkEvalServiceWorkers(b *testing.B) {
	s := leader.NewEvalService(broker.Config{Rand: rand.New(rand.NewPCG(1, 1))})
	s.SetEnabled(true)
	evals := make([]*broker.Evaluation, b.N)
	for i := range evals {
		evals[i] = &broker.Evaluation{ID: fmt.Sprintf("e%d", i), JobID: fmt.Sprintf("job-%d", i%1000), Type: "system", CreateIndex: uint64(i)}
	}
	var working sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	watch := rusage.Stopwatch{B: b}
	watch.Start()
	for w := range 32 {
		working.Go(func() {
			for i := w; i < b.N; i += 32 {
				cycle(b, s, []string{"system"})
			}
		})
	}
	for _, e := range evals {
		s.Enqueue(e)
	}
	working.Wait()
	watch.Stop()
	watch.Report(b.N)
	s.Close()
}
