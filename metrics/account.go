package metrics

import (
	"maps"
	"slices"
)

// Expectation is one line of an account of the Raft log: how many entries of a type a kind of
// event should have cost. Entries is negative for an event that saves entries of another line.
type Expectation struct {
	Type    string `json:"type"`
	Event   string `json:"event"`
	Entries int64  `json:"entries"`
}

// Unexplained returns, by type, how many entries the phase has written beyond those that its
// events should have cost; fewer are negative. It leaves out types that agree, and is empty if
// nobody worked out what to expect.
func (p *Phase) Unexplained() map[string]int64 {
	if len(p.RaftAccount) == 0 {
		return nil
	}
	rest := map[string]int64{}
	for kind, n := range p.RaftEntriesByType {
		rest[kind] += int64(n)
	}
	for kind, n := range p.RaftEntriesExpectedByType {
		rest[kind] -= int64(n)
	}
	maps.DeleteFunc(rest, func(_ string, n int64) bool { return n == 0 })
	return rest
}

// expectedByType sums an account by type; nil if there is none.
func expectedByType(account []Expectation) map[string]uint64 {
	if len(account) == 0 {
		return nil
	}
	sums := map[string]int64{}
	for _, e := range account {
		sums[e.Type] += e.Entries
	}
	counts := map[string]uint64{}
	for kind, n := range sums {
		if n > 0 {
			counts[kind] = uint64(n)
		}
	}
	return counts
}

// addAccounts adds the lines of one account to another.
func addAccounts(sum, more []Expectation) []Expectation {
	for _, e := range more {
		i := slices.IndexFunc(sum, func(s Expectation) bool { return s.Type == e.Type && s.Event == e.Event })
		if i < 0 {
			sum = append(sum, e)
			continue
		}
		sum[i].Entries += e.Entries
	}
	return sum
}
