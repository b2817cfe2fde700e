package uuid

import "maps"

// Set is a set of IDs, most of which Format wrote. The zero value is empty. It is not safe for
// concurrent use.
//
// UUIDs are kept as their 16 bytes: a map of strings that grows reads every string again to hash
// it, and the collector follows each. That is half the time of a broker's enqueue
// (docs/benchmarks.md).
type Set struct {
	uuids  map[[16]byte]struct{}
	others map[string]struct{}
}

// Add adds an ID. It reports whether the set did not have it.
func (s *Set) Add(id string) bool {
	if raw, ok := Parse(id); ok {
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

// Has reports whether the set has an ID.
func (s *Set) Has(id string) bool {
	if s.Len() == 0 {
		return false
	}
	raw, ok := Parse(id)
	if ok {
		_, ok = s.uuids[raw]
	} else {
		_, ok = s.others[id]
	}
	return ok
}

// Remove removes an ID if the set has it.
func (s *Set) Remove(id string) {
	if raw, ok := Parse(id); ok {
		delete(s.uuids, raw)
	} else {
		delete(s.others, id)
	}
}

// Clone returns a copy.
func (s *Set) Clone() Set { return Set{maps.Clone(s.uuids), maps.Clone(s.others)} }

// Len returns the number of IDs.
func (s *Set) Len() int { return len(s.uuids) + len(s.others) }
