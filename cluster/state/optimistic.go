package state

import "fmt"

// Optimistic returns a copy that can be written to without anyone else seeing it. The
// plan applier verifies the next plan against one while the last is being committed
// (plan_apply.go, planApply). The copy shares all unchanged rows.
func (s *Snapshot) Optimistic() *Snapshot {
	db := s.db.Snapshot()
	return &Snapshot{txn: db.Txn(false), counts: s.counts, db: db, optimistic: true}
}

// UpsertPlanResults applies a plan to an optimistic snapshot as if it had been committed
// at index. The allocations in it stay the caller's.
func (s *Snapshot) UpsertPlanResults(index uint64, r *PlanResults) error {
	if !s.optimistic {
		return fmt.Errorf("cannot apply a plan to a shared snapshot at index %d: take an optimistic one", s.Index())
	}
	tx := begin(s.txn, s.counts, index)
	tx.copies = true
	if err := tx.UpsertPlanResults(r); err != nil {
		return err
	}
	txn := s.db.Txn(true)
	defer txn.Abort() // does nothing after a commit
	if err := tx.flush(txn); err != nil {
		return err
	}
	txn.Commit()
	s.counts, s.txn = &tx.counts, s.db.Txn(false)
	return nil
}
