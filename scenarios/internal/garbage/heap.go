package garbage

// Heap says how large a heap may grow before it collects garbage in earnest. It may always grow to Share
// bytes, and to twice the live data, but no further than Most. If the live data exceed five sixths of Most, the
// heap may grow beyond Most by five times that excess, up to Large. A Most or Large of no more than Share has no
// effect. Within bounds all that the process holds, stacks and garbage included, for as long as the live
// data allow that; zero means no bound.
type Heap struct{ Share, Most, Large, Within int }

// Goal returns the bytes that the heap may grow to.
func (h Heap) Goal(live uint64) uint64 {
	goal := max(uint64(h.Share), min(2*live, uint64(h.Most)))
	if much := uint64(h.Most / 6 * 5); live > much {
		goal = max(goal, min(uint64(h.Most)+5*(live-much), uint64(h.Large)))
	}
	return goal
}

// Under returns the heap of a process that should keep below so many bytes; zero says nothing.
func (h Heap) Under(memory int64) Heap {
	if memory <= 0 {
		return h
	}
	most := int(memory / 5 * 4) // stacks and fragments come on top
	return Heap{min(h.Share, most), min(h.Most, most), min(h.Large, most), int(memory / 10 * 9)}
}

// growth returns by how many percent of the live data the heap may grow, 35 to 400.
func (h Heap) growth(live uint64) uint64 {
	if live == 0 {
		return 400
	}
	return min(max(h.Goal(live)/(live/100+1), 135), 500) - 100
}
