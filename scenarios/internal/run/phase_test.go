package run

import (
	"testing"

	"github.com/simctl/simctl/cluster"
)

// TestCompletedSoFar: what garbage collection deletes stays counted, and a batch that the leader has not applied takes
// nothing away.
func TestCompletedSoFar(t *testing.T) {
	var r run
	c := cluster.Stats{EvalsByStatus: map[string]uint64{"complete": 70, "canceled": 5, "failed": 1, "pending": 9}}
	c.Counters = cluster.Counters{EvalsCanceled: 8, EvalsFailed: 2, EvalsCollected: 34}
	if got := r.completedSoFar(c); got != 100 {
		t.Errorf("%v completed, want 70 of those in state and 30 of those collected", got)
	}
	c.Counters.EvalsCanceled += 728
	if got := r.completedSoFar(c); got != 100 {
		t.Errorf("%v completed once a follower has canceled 728, want 100 as before", got)
	}
}
