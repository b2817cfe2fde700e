package state

import (
	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// The methods below each apply one log entry that makes one kind of change; entries that
// make several, such as a job with its evaluation, use Update.

// UpsertNode is Tx.UpsertNode as a log entry of its own.
func (s *Store) UpsertNode(index uint64, node *rpc.Node) error {
	return s.Update(index, func(tx *Tx) error { return tx.UpsertNode(node) })
}

// UpdateNodeStatus is Tx.UpdateNodeStatus as a log entry of its own.
func (s *Store) UpdateNodeStatus(index uint64, nodeID, status string, updatedAt int64, event string) error {
	return s.Update(index, func(tx *Tx) error { return tx.UpdateNodeStatus(nodeID, status, updatedAt, event) })
}

// UpdateNodeEligibility is Tx.UpdateNodeEligibility as a log entry of its own.
func (s *Store) UpdateNodeEligibility(index uint64, nodeID, eligibility string, updatedAt int64, event string) error {
	return s.Update(index, func(tx *Tx) error { return tx.UpdateNodeEligibility(nodeID, eligibility, updatedAt, event) })
}

// UpdateNodeDrain is Tx.UpdateNodeDrain as a log entry of its own.
func (s *Store) UpdateNodeDrain(index uint64, nodeID string, drain *rpc.DrainStrategy, markEligible bool, updatedAt int64, event string) error {
	return s.Update(index, func(tx *Tx) error {
		return tx.UpdateNodeDrain(nodeID, drain, markEligible, updatedAt, event)
	})
}

// DeleteNode is Tx.DeleteNode as a log entry of its own.
func (s *Store) DeleteNode(index uint64, nodeIDs ...string) error {
	return s.Update(index, func(tx *Tx) error { return tx.DeleteNode(nodeIDs...) })
}

// UpsertJob is Tx.UpsertJob as a log entry of its own.
func (s *Store) UpsertJob(index uint64, job *rpc.Job) error {
	return s.Update(index, func(tx *Tx) error { return tx.UpsertJob(job) })
}

// StopJob is Tx.StopJob as a log entry of its own.
func (s *Store) StopJob(index uint64, namespace, id string) error {
	return s.Update(index, func(tx *Tx) error { return tx.StopJob(namespace, id) })
}

// DeleteJob is Tx.DeleteJob as a log entry of its own.
func (s *Store) DeleteJob(index uint64, namespace, id string) error {
	return s.Update(index, func(tx *Tx) error { return tx.DeleteJob(namespace, id) })
}

// UpsertEvals is Tx.UpsertEvals as a log entry of its own.
func (s *Store) UpsertEvals(index uint64, evals []*broker.Evaluation) error {
	return s.Update(index, func(tx *Tx) error { return tx.UpsertEvals(evals...) })
}

// DeleteEvals is Tx.DeleteEvals as a log entry of its own.
func (s *Store) DeleteEvals(index uint64, evalIDs, allocIDs []string) error {
	return s.Update(index, func(tx *Tx) error { return tx.DeleteEvals(evalIDs, allocIDs) })
}

// UpdateAllocsFromClient is Tx.UpdateAllocsFromClient as a log entry of its own.
func (s *Store) UpdateAllocsFromClient(index uint64, allocs []*rpc.Allocation) error {
	return s.Update(index, func(tx *Tx) error { return tx.UpdateAllocsFromClient(allocs...) })
}

// UpsertPlanResults is Tx.UpsertPlanResults as a log entry of its own.
func (s *Store) UpsertPlanResults(index uint64, r *PlanResults) error {
	return s.Update(index, func(tx *Tx) error { return tx.UpsertPlanResults(r) })
}
