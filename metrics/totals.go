package metrics

import (
	"maps"
	"slices"
)

// never is the value of a time in a Phase whose condition was not met.
const never = -1

// Totals sums up the phases of a run as Phase documents.
func Totals(phases []Phase) Phase {
	t := Phase{
		Name:              "total",
		QueueEmptyS:       never,
		RecoveryS:         never,
		RaftEntriesByType: map[string]uint64{},
		EvalsByStatus:     map[string]uint64{},
	}
	for i, p := range phases {
		if i == 0 {
			t.StartS = p.StartS
		}
		t.EndS = max(t.EndS, p.EndS)
		t.QueueEmptyS = max(t.QueueEmptyS, p.QueueEmptyS)
		t.RecoveryS = max(t.RecoveryS, p.RecoveryS)
		t.CancelsWrittenS = latest(t.CancelsWrittenS, p.CancelsWrittenS)
		t.AllocsReplacedS = latest(t.AllocsReplacedS, p.AllocsReplacedS)
		t.DeploymentS = latest(t.DeploymentS, p.DeploymentS)
		t.RaftEntries += p.RaftEntries
		for kind, n := range p.RaftEntriesByType {
			t.RaftEntriesByType[kind] += n
		}
		t.RaftAccount = addAccounts(t.RaftAccount, p.RaftAccount)
		t.EvalsCreated += p.EvalsCreated
		t.EvalsProcessed += p.EvalsProcessed
		t.EvalsCanceled += p.EvalsCanceled
		t.EvalsByStatus = cloneCounts(p.EvalsByStatus)
		t.PlansSubmitted += p.PlansSubmitted
		t.PeakPending = max(t.PeakPending, p.PeakPending)
		t.PeakCancelable = max(t.PeakCancelable, p.PeakCancelable)
		t.NodesDown += p.NodesDown
		t.MissedHeartbeats += p.MissedHeartbeats
	}
	t.RaftEntriesExpectedByType = expectedByType(t.RaftAccount)
	return t
}

// latest returns the later of two times. Zero, for nothing to wait for, and never count only
// if neither is a time.
func latest(a, b float64) float64 {
	if a <= 0 && b <= 0 {
		return min(a, b)
	}
	return max(a, b)
}

// cloneCounts copies counts; nil becomes empty, so that the file says {} and not null.
func cloneCounts(counts map[string]uint64) map[string]uint64 {
	out := make(map[string]uint64, len(counts))
	maps.Copy(out, counts)
	return out
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
