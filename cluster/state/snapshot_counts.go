package state

import "github.com/simctl/simctl/cluster/rpc"

// EvalsByStatusCount counts the evaluations by status; statuses none has are absent.
func (s *Snapshot) EvalsByStatusCount() map[string]uint64 {
	m := make(map[string]uint64, len(s.counts.EvalsByStatus))
	for _, x := range s.counts.EvalsByStatus {
		m[x.Kind] = uint64(x.N)
	}
	return m
}

// EvalCount counts the evaluations of one status.
func (s *Snapshot) EvalCount(status string) int { return s.counts.EvalsByStatus.of(status) }

// EvalTotal counts all evaluations.
func (s *Snapshot) EvalTotal() int { return s.counts.Evals }

// NodesByStatusCount counts the nodes by status; statuses none has are absent.
func (s *Snapshot) NodesByStatusCount() map[string]int {
	m := make(map[string]int, len(s.counts.NodesByStatus))
	for _, x := range s.counts.NodesByStatus {
		m[x.Kind] = x.N
	}
	return m
}

// NodeCount counts all nodes.
func (s *Snapshot) NodeCount() int { return s.counts.NodesByStatus.total() }

// NodesIn counts the nodes of the given datacenters, each of which must be named once.
func (s *Snapshot) NodesIn(datacenters []string) DCCount {
	var sum DCCount
	for _, dc := range datacenters {
		c := s.counts.Datacenters[dc]
		sum.Nodes += c.Nodes
		sum.Ready += c.Ready
	}
	return sum
}

// SchedulerConfig returns the scheduler configuration.
func (s *Snapshot) SchedulerConfig() rpc.SchedulerConfig { return s.counts.Scheduler }

// JobCount counts all jobs.
func (s *Snapshot) JobCount() int { return s.counts.Jobs }

// AllocCounts counts all allocations, split by Terminal.
func (s *Snapshot) AllocCounts() (live, terminal int) {
	return s.counts.AllocsLive, s.counts.AllocsTerminal
}

// NodeDeletedIndex returns the last index that deleted a node; zero means that none was.
func (s *Snapshot) NodeDeletedIndex() uint64 { return s.counts.NodeDeleted }

// NodesIndex returns the last index that changed any node.
func (s *Snapshot) NodesIndex() uint64 { return s.counts.NodesIndex }

// RefreshIndex returns the last index that changed any node or allocation: what a
// scheduler whose plan was refused must have seen before it tries again
// (plan_apply.go, refreshIndex).
func (s *Snapshot) RefreshIndex() uint64 { return max(s.counts.NodesIndex, s.counts.AllocsIndex) }
