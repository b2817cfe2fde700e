package broker

// heap is a binary min-heap without the boxing of container/heap. It sifts as that
// package does, so that the layout of its slice, which [Quirks].LastSlotPeek makes
// visible, is Nomad's.
type heap[T any] struct {
	items  []T
	before func(a, b T) bool
	// moved, if set, is told each element's new index, and -1 when it leaves.
	moved func(x T, index int)
}

func (h *heap[T]) len() int { return len(h.items) }

func (h *heap[T]) push(x T) {
	h.items = append(h.items, x)
	h.up(len(h.items) - 1)
}

// pop removes the first element; the heap must not be empty.
func (h *heap[T]) pop() T { return h.remove(0) }

func (h *heap[T]) remove(i int) T {
	var zero T
	x, last := h.items[i], len(h.items)-1
	h.items[i] = h.items[last]
	h.items[last] = zero
	h.items = h.items[:last]
	if i < last {
		h.fix(i)
	}
	if h.moved != nil {
		h.moved(x, -1)
	}
	return x
}

// fix restores the order after the element at i changed.
func (h *heap[T]) fix(i int) {
	if !h.down(i) {
		h.up(i)
	}
}

// init orders all elements in linear time.
func (h *heap[T]) init() {
	for i := len(h.items)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
}

func (h *heap[T]) up(i int) {
	x := h.items[i]
	for i > 0 {
		parent := (i - 1) / 2
		if !h.before(x, h.items[parent]) {
			break
		}
		h.set(i, h.items[parent])
		i = parent
	}
	h.set(i, x)
}

func (h *heap[T]) down(i int) bool {
	x, start, n := h.items[i], i, len(h.items)
	for {
		child := 2*i + 1
		if child >= n {
			break
		}
		if right := child + 1; right < n && h.before(h.items[right], h.items[child]) {
			child = right
		}
		if !h.before(h.items[child], x) {
			break
		}
		h.set(i, h.items[child])
		i = child
	}
	h.set(i, x)
	return i > start
}

func (h *heap[T]) set(i int, x T) {
	h.items[i] = x
	if h.moved != nil {
		h.moved(x, i)
	}
}
