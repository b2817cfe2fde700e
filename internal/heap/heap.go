package heap

// Heap is a binary min-heap. Set Before, and Moved if it is needed, before the first
// call. A Heap is not safe for concurrent use.
//
// It sifts in the order in which container/heap does, so both leave equal elements, and
// the layout of Items, the same.
type Heap[T any] struct {
	// Items are the elements; the first one is the minimum. Call Fix after changing one.
	Items []T
	// Before reports whether a comes before b. It must be a strict weak ordering.
	Before func(a, b T) bool
	// Moved, if not nil, is called with the new index of each element that moves or is
	// pushed, and with -1 for one that is removed.
	Moved func(x T, index int)
}

// Len returns the number of elements.
func (h *Heap[T]) Len() int { return len(h.Items) }

// Push adds an element.
func (h *Heap[T]) Push(x T) {
	h.Items = append(h.Items, x)
	h.up(len(h.Items) - 1)
}

// Pop removes the minimum and returns it. It panics if the heap is empty.
func (h *Heap[T]) Pop() T { return h.Remove(0) }

// Remove removes the element at index i and returns it. It panics if there is none.
func (h *Heap[T]) Remove(i int) T {
	var zero T
	x, last := h.Items[i], len(h.Items)-1
	h.Items[i] = h.Items[last]
	h.Items[last] = zero
	h.Items = h.Items[:last]
	if i < last {
		h.Fix(i)
	}
	if h.Moved != nil {
		h.Moved(x, -1)
	}
	return x
}

// Fix restores the order after the element at index i changed.
func (h *Heap[T]) Fix(i int) {
	if !h.down(i) {
		h.up(i)
	}
}

func (h *Heap[T]) up(i int) {
	x := h.Items[i]
	for i > 0 {
		parent := (i - 1) / 2
		if !h.Before(x, h.Items[parent]) {
			break
		}
		h.set(i, h.Items[parent])
		i = parent
	}
	h.set(i, x)
}

// down reports whether the element moved.
func (h *Heap[T]) down(i int) bool {
	x, start, n := h.Items[i], i, len(h.Items)
	for {
		child := 2*i + 1
		if child >= n {
			break
		}
		if right := child + 1; right < n && h.Before(h.Items[right], h.Items[child]) {
			child = right
		}
		if !h.Before(h.Items[child], x) {
			break
		}
		h.set(i, h.Items[child])
		i = child
	}
	h.set(i, x)
	return i > start
}

func (h *Heap[T]) set(i int, x T) {
	h.Items[i] = x
	if h.Moved != nil {
		h.Moved(x, i)
	}
}
