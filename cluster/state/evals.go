package state

import (
	"fmt"

	"github.com/simctl/simctl/broker"
)

// UpsertEvals stores new and changed evaluations. One that completes with everything
// placed cancels the blocked evaluations of its job (state_store.go, nestedUpsertEval).
// The error is for an evaluation without an ID.
func (tx *Tx) UpsertEvals(evals ...*broker.Evaluation) error {
	for _, e := range evals {
		if e.ID == "" {
			return fmt.Errorf("cannot store an evaluation of job %q: it has no ID", e.JobID)
		}
		old := tx.evals.get(e.ID)
		if tx.copies {
			e = e.Copy()
		}
		e.CreateIndex, e.ModifyIndex = tx.index, tx.index
		if old != nil {
			e.CreateIndex = old.CreateIndex
		}
		if e.Status == broker.StatusComplete && len(e.FailedTGAllocs) == 0 {
			tx.cancelBlocked(e)
		}
		tx.putEval(old, e)
	}
	return nil
}

func (tx *Tx) cancelBlocked(by *broker.Evaluation) {
	for _, id := range tx.summary(by.Job()).Blocked { // putEval replaces the list, and does not write to it
		if id == by.ID {
			continue // UpsertEvals is about to write it
		}
		old := tx.evals.get(id)
		e := old.Copy()
		e.Status = broker.StatusCanceled
		e.StatusDescription = fmt.Sprintf("evaluation %q successful", by.ID)
		e.ModifyIndex = tx.index
		tx.putEval(old, e)
	}
}

// touchEval raises the ModifyIndex of the evaluation a plan was made for: a worker that
// processes it again must see what the plan did (state_store.go, updateEvalModifyIndex).
func (tx *Tx) touchEval(id string) error {
	old := tx.evals.get(id)
	if old == nil {
		return fmt.Errorf("unable to find eval id %q", id)
	}
	e := old.Copy()
	e.ModifyIndex = tx.index
	tx.putEval(old, e)
	return nil
}

// DeleteEvals removes evaluations and allocations for garbage collection. It ignores
// unknown IDs.
func (tx *Tx) DeleteEvals(evalIDs, allocIDs []string) error {
	for _, id := range evalIDs {
		if old := tx.evals.get(id); old != nil {
			tx.evals.put(tx.owner, id, nil)
			tx.evalChanged(old, nil)
		}
	}
	for _, id := range allocIDs {
		if old := tx.allocs.get(id); old != nil {
			tx.allocs.put(tx.owner, id, nil)
			tx.allocChanged(old, nil)
		}
	}
	return nil
}
