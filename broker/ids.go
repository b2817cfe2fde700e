package broker

import (
	"maps"

	"github.com/simctl/simctl/internal/uuid"
)

// idSet is a set of evaluation IDs. The zero value is empty.
//
// Those in the form of a UUID, which all of Nomad's are, are kept as their 16 bytes: a map
// of strings that grows reads every string again to hash it, and the collector follows
// each. That is half the time of an enqueue (docs/benchmarks.md).
type idSet struct {
	uuids  map[[16]byte]struct{}
	others map[string]struct{}
}

// add adds an ID. It reports whether the set did not have it.
func (s *idSet) add(id string) bool {
	if raw, ok := uuid.Parse(id); ok {
		return insert(&s.uuids, raw)
	}
	return insert(&s.others, id)
}

// insert looks only once: the length tells whether the key is new.
func insert[K comparable](m *map[K]struct{}, key K) bool {
	if *m == nil {
		*m = make(map[K]struct{})
	}
	n := len(*m)
	(*m)[key] = struct{}{}
	return len(*m) > n
}

func (s *idSet) has(id string) bool {
	if len(s.uuids)+len(s.others) == 0 {
		return false
	}
	raw, ok := uuid.Parse(id)
	if ok {
		_, ok = s.uuids[raw]
	} else {
		_, ok = s.others[id]
	}
	return ok
}

func (s *idSet) remove(id string) {
	if raw, ok := uuid.Parse(id); ok {
		delete(s.uuids, raw)
	} else {
		delete(s.others, id)
	}
}

func (s *idSet) clone() idSet { return idSet{maps.Clone(s.uuids), maps.Clone(s.others)} }
