package server

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
