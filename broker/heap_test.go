package broker

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestHeap compares the heap with a sorted list, and the indexes it tells with its own.
func TestHeap(t *testing.T) {
	type element struct{ value, index int }
	rapid.Check(t, func(t *rapid.T) {
		h := heap[*element]{
			before: func(a, b *element) bool { return a.value < b.value },
			moved:  func(e *element, i int) { e.index = i },
		}
		var want []int
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			switch op := rapid.IntRange(0, 5).Draw(t, "op"); {
			case op < 3 || h.len() == 0:
				e := &element{value: rapid.IntRange(0, 99).Draw(t, "value")}
				h.push(e)
				want = append(want, e.value)
			case op == 3:
				i := rapid.IntRange(0, h.len()-1).Draw(t, "index")
				e := h.remove(i)
				if e.index != -1 {
					t.Fatalf("a removed element was told index %d", e.index)
				}
				want = slices.Delete(want, slices.Index(want, e.value), slices.Index(want, e.value)+1)
			case op == 4:
				e := h.items[rapid.IntRange(0, h.len()-1).Draw(t, "index")]
				at := slices.Index(want, e.value)
				e.value = rapid.IntRange(0, 99).Draw(t, "value")
				want[at] = e.value
				h.fix(e.index)
			default:
				for _, e := range h.items {
					e.value = 99 - e.value
				}
				for i := range want {
					want[i] = 99 - want[i]
				}
				h.init()
			}
			for i, e := range h.items {
				if e.index != i {
					t.Fatalf("the element at %d was told %d", i, e.index)
				}
			}
		}
		slices.Sort(want)
		var got []int
		for h.len() > 0 {
			got = append(got, h.pop().value)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("popped %v, want %v", got, want)
		}
	})
}
