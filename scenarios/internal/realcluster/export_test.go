package realcluster

// Abandon leaves everything as the end of the process does.
func (s *Stay) Abandon() {
	s.clients.Close()
	s.desk.leave()
}
