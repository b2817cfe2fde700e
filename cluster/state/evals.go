package state

import (
	"fmt"

	"github.com/simctl/simctl/broker"
)

// UpsertEvals stores evaluations, new and changed. A complete one that placed everything
// cancels the blocked evaluations of its job (state_store.go, nestedUpsertEval).
func (tx *Tx) UpsertEvals(evals ...*broker.Evaluation) error {
	for _, e := range evals {
		if e.ID == "" {
			return fmt.Errorf("cannot store an evaluation of job %q: it has no ID", e.JobID)
		}
		old, err := tx.eval(e.ID)
		if err != nil {
			return err
		}
		if tx.copies {
			e = e.Copy()
		}
		e.CreateIndex, e.ModifyIndex = tx.index, tx.index
		if old != nil {
			e.CreateIndex = old.CreateIndex
		}
		if e.Status == broker.StatusComplete && len(e.FailedTGAllocs) == 0 {
			if err := tx.cancelBlocked(e); err != nil {
				return err
			}
		}
		if err := tx.putEval(old, e); err != nil {
			return err
		}
	}
	return nil
}

func (tx *Tx) cancelBlocked(by *broker.Evaluation) error {
	s := tx.summary(by.Job())
	for _, id := range s.Blocked { // putEval replaces the list, and does not write to it
		if id == by.ID {
			continue // it is about to be written itself
		}
		old, err := tx.eval(id)
		if err != nil {
			return err
		}
		e := old.Copy()
		e.Status = broker.StatusCanceled
		e.StatusDescription = fmt.Sprintf("evaluation %q successful", by.ID)
		e.ModifyIndex = tx.index
		if err := tx.putEval(old, e); err != nil {
			return err
		}
	}
	return nil
}

// touchEval raises the ModifyIndex of the evaluation that a plan was made for, so that
// who processes it again sees what the plan did (state_store.go, updateEvalModifyIndex).
func (tx *Tx) touchEval(id string) error {
	old, err := tx.eval(id)
	if err != nil {
		return err
	}
	if old == nil {
		return fmt.Errorf("unable to find eval id %q", id)
	}
	e := old.Copy()
	e.ModifyIndex = tx.index
	return tx.putEval(old, e)
}

// DeleteEvals removes evaluations and allocations, as garbage collection does. IDs that
// are not there are passed over.
func (tx *Tx) DeleteEvals(evalIDs, allocIDs []string) error {
	for _, id := range evalIDs {
		old, err := tx.eval(id)
		if err != nil {
			return err
		}
		if old == nil {
			continue
		}
		tx.evals.put(id, nil)
		tx.countEval(old, nil)
		s := tx.summary(old.Job())
		s.Evals.Count--
		s.moveBlocked(old, nil)
	}
	for _, id := range allocIDs {
		old, err := tx.alloc(id)
		if err != nil {
			return err
		}
		if old == nil {
			continue
		}
		tx.allocs.put(id, nil)
		if err := tx.allocChanged(old, nil); err != nil {
			return err
		}
	}
	return nil
}
