package broker

import "hash/maphash"

// table is a hash table of values that know their own keys. It exists for speed: a failed
// lookup and the put that follows cost about one cache miss together, and growing it
// reads neither keys nor values, as a map must. The order of all is random.
type table[K comparable, V any] struct {
	hash func(K) uint64
	key  func(V) K

	slots []slot[V] // a power of two of them, or none; probed linearly
	n     int
}

type slot[V any] struct {
	hash uint64 // zero: empty
	v    V
}

// hashOf leaves zero to empty slots.
func (t *table[K, V]) hashOf(k K) uint64 { return t.hash(k) | 1<<63 }

// find returns the slot of k or the empty one that ends the search for it; there must be
// slots.
func (t *table[K, V]) find(h uint64, k K) int {
	mask := len(t.slots) - 1
	for i := int(h) & mask; ; i = (i + 1) & mask {
		if s := &t.slots[i]; s.hash == 0 || s.hash == h && t.key(s.v) == k {
			return i
		}
	}
}

// get returns the value of k, or the zero value.
func (t *table[K, V]) get(k K) V {
	if t.n == 0 {
		var none V
		return none
	}
	return t.slots[t.find(t.hashOf(k), k)].v
}

func (t *table[K, V]) has(k K) bool {
	return t.n > 0 && t.slots[t.find(t.hashOf(k), k)].hash != 0
}

// put adds v, or does nothing and reports false if its key is there.
func (t *table[K, V]) put(v V) bool {
	if t.n >= len(t.slots)/5*4 {
		t.grow()
	}
	k := t.key(v)
	h := t.hashOf(k)
	s := &t.slots[t.find(h, k)]
	if s.hash != 0 {
		return false
	}
	*s = slot[V]{h, v}
	t.n++
	return true
}

func (t *table[K, V]) grow() {
	old := t.slots
	t.slots = make([]slot[V], max(8, 2*len(old)))
	mask := len(t.slots) - 1
	for i := range old {
		if old[i].hash == 0 {
			continue
		}
		to := int(old[i].hash) & mask
		for t.slots[to].hash != 0 {
			to = (to + 1) & mask
		}
		t.slots[to] = old[i]
	}
}

// remove forgets k.
func (t *table[K, V]) remove(k K) {
	if t.n == 0 {
		return
	}
	gap := t.find(t.hashOf(k), k)
	if t.slots[gap].hash == 0 {
		return
	}
	t.n--
	// Move up what was put further along only because the slot was taken.
	mask := len(t.slots) - 1
	for i := (gap + 1) & mask; t.slots[i].hash != 0; i = (i + 1) & mask {
		if home := int(t.slots[i].hash) & mask; (i-home)&mask >= (i-gap)&mask {
			t.slots[gap] = t.slots[i]
			gap = i
		}
	}
	t.slots[gap] = slot[V]{}
}

// empty forgets everything; a large table gives up its memory.
func (t *table[K, V]) empty() {
	if len(t.slots) > 4*handOver {
		t.slots = nil
	} else if t.n > 0 {
		clear(t.slots)
	}
	t.n = 0
}

// all iterates; the table must not change meanwhile.
func (t *table[K, V]) all(yield func(V) bool) {
	for i := range t.slots {
		if t.slots[i].hash != 0 && !yield(t.slots[i].v) {
			return
		}
	}
}

// copyTo makes c a copy, in its own memory if that suffices.
func (t *table[K, V]) copyTo(c *table[K, V]) {
	c.hash, c.key, c.n = t.hash, t.key, t.n
	c.slots = append(c.slots[:0], t.slots...)
}

// The seed does not reach any outcome: it decides about slots only.
var seed = maphash.MakeSeed()

func hashID(id string) uint64 { return maphash.String(seed, id) }

func hashJob(j JobID) uint64 {
	return maphash.String(seed, j.ID) + 31*maphash.String(seed, j.Namespace)
}

// idSet is a set of evaluations by ID.
type idSet = table[string, *Evaluation]

func newIDSet() idSet {
	return idSet{hash: hashID, key: func(e *Evaluation) string { return e.ID }}
}
