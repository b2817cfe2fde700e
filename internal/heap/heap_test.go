package heap

import (
	stdheap "container/heap"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type element struct{ value, index int }

// oracle is the same heap by container/heap. Its elements are the values.
type oracle []int

func (o oracle) Len() int           { return len(o) }
func (o oracle) Less(i, j int) bool { return o[i] < o[j] }
func (o oracle) Swap(i, j int)      { o[i], o[j] = o[j], o[i] }
func (o *oracle) Push(x any)        { *o = append(*o, x.(int)) }
func (o *oracle) Pop() any {
	last := len(*o) - 1
	x := (*o)[last]
	*o = (*o)[:last]
	return x
}

// TestHeap holds the heap's layout to that of container/heap, the indexes it reports to
// its own, and its order to a sorted list.
func TestHeap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		h := Heap[*element]{
			Before: func(a, b *element) bool { return a.value < b.value },
			Moved:  func(e *element, i int) { e.index = i },
		}
		var want oracle
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			switch op := rapid.IntRange(0, 4).Draw(t, "op"); {
			case op < 3 || h.Len() == 0:
				e := &element{value: rapid.IntRange(0, 99).Draw(t, "value")}
				h.Push(e)
				stdheap.Push(&want, e.value)
			case op == 3:
				i := rapid.IntRange(0, h.Len()-1).Draw(t, "index")
				if e := h.Remove(i); e.index != -1 || e.value != stdheap.Remove(&want, i) {
					t.Fatalf("Remove(%d) returned %d, whose index is %d", i, e.value, e.index)
				}
			default:
				i := rapid.IntRange(0, h.Len()-1).Draw(t, "index")
				e := h.Items[i]
				e.value = rapid.IntRange(0, 99).Draw(t, "value")
				want[i] = e.value
				h.Fix(e.index)
				stdheap.Fix(&want, i)
			}
			for i, e := range h.Items {
				if e.index != i || e.value != want[i] {
					t.Fatalf("at %d is %d, whose index is %d; container/heap has %d there", i, e.value, e.index, want[i])
				}
			}
		}
		slices.Sort(want)
		var got []int
		for h.Len() > 0 {
			got = append(got, h.Pop().value)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("popped %v, want %v", got, want)
		}
	})
}
