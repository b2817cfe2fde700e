package remote

import (
	"cmp"
	"errors"
	"maps"
	"regexp"
	"slices"
	"sync"

	"github.com/simctl/simctl/cluster/rpc"
)

// Failure is calls of a method that failed in one way.
type Failure struct {
	Method string
	Error  string // without what differs from call to call
	Count  uint64
}

// maxFailures is how many kinds of failures are told apart.
const maxFailures = 50

// otherFailures is the Error of those beyond that.
const otherFailures = "other errors"

// failures counts calls that failed.
type failures struct {
	mu     sync.Mutex
	counts map[Failure]uint64 // Count is 0 in the keys
}

var variable = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}`)

func (f *failures) add(method string, err error) {
	kind := Failure{Method: method, Error: variable.ReplaceAllString(err.Error(), "…")}
	if errors.Is(err, rpc.ErrUnreachable) {
		kind.Error = rpc.ErrUnreachable.Error()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.counts == nil {
		f.counts = map[Failure]uint64{}
	}
	if _, known := f.counts[kind]; !known && len(f.counts) >= maxFailures {
		kind.Error = otherFailures
	}
	f.counts[kind]++
}

// Failures returns the calls that failed, the most frequent first. Calls that ended because
// their client did are not among them.
func (s *Servers) Failures() []Failure {
	s.failed.mu.Lock()
	defer s.failed.mu.Unlock()
	var all []Failure
	for kind := range maps.Keys(s.failed.counts) {
		all = append(all, Failure{kind.Method, kind.Error, s.failed.counts[kind]})
	}
	slices.SortFunc(all, func(a, b Failure) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Method, b.Method), cmp.Compare(a.Error, b.Error))
	})
	return all
}
