package server

import (
	"errors"
	"sync"

	"github.com/simctl/simctl/broker"
)

// Faults inside a server that goes on otherwise.

// CrashWorkers makes the workers lose the next n evaluations they dequeue, on top of those
// of earlier calls.
func (s *Server) CrashWorkers(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.crashes += n
}

// crashed reports whether the evaluation that a worker has just dequeued is lost.
func (s *Server) crashed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.crashes == 0 {
		return false
	}
	s.crashes--
	return true
}

// StickApplier makes the plan applier stand still before the next plan, or lets it go on.
func (s *Server) StickApplier(stuck bool) {
	s.stuck.Store(stuck)
	s.unstuck.Notify()
}

// Poison is the jobs that make every scheduler panic. It is safe for concurrent use.
type Poison struct {
	mu   sync.Mutex
	jobs map[broker.JobID]int // how often each was added
}

// Add adds a job, or with -1 takes an earlier call back.
func (p *Poison) Add(job broker.JobID, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.jobs == nil {
		p.jobs = map[broker.JobID]int{}
	}
	p.jobs[job] += n
}

func (p *Poison) has(job broker.JobID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.jobs[job] > 0
}

// errPanicked is what a worker makes of a scheduler's panic (scheduler/generic_sched.go, Process).
var errPanicked = errors.New("processing the evaluation panicked the scheduler")
