package cpu

import "time"

// Garbage is what some work leaves behind: Cost is the CPU time that it takes to collect it, and Heap what it takes to
// mark all that the process has. Key is that of the task that collects it, where nothing is said of the heap.
type Garbage struct {
	Key  uint64
	Cost time.Duration
	Heap time.Duration
}

// trigger is the part of the garbage of a cycle after which marking begins (runtime/mgcpacer.go, minTriggerRatioDistance). It begins later
// only in programs that leave so little that a quarter of the processors can mark in the rest of the cycle.
const trigger = 0.7

// heap is Go's collector of garbage, in CPU time: what it costs to collect is what was left. It waits until so much was left
// as marking takes, and then marks. That takes a quarter of the time of the processors that work, and all of the time of those
// that have nothing to do. Goroutines that leave more help, so that it is done before the heap has grown to its goal.
type heap struct {
	left    time.Duration // what the garbage of this cycle costs
	goal    time.Duration // what it may cost before the cycle's end
	toMark  time.Duration // what is left to do of that
	done    time.Duration // what was done
	credit  time.Duration // marked by processors, and not yet taken by a goroutine
	marking bool
}

// leave notes garbage, and returns how long who leaves it has to mark.
func (h *heap) leave(g Garbage) (assist time.Duration) {
	if h.marking && g.Cost > 0 {
		runway := max(h.goal-h.left, g.Cost)
		share := time.Duration(float64(g.Cost) * float64(h.toMark) / float64(runway))
		taken := min(share, h.credit)
		h.credit -= taken
		assist = min(share-taken, h.toMark)
		h.mark(assist)
	}
	h.left += g.Cost
	if !h.marking && h.left >= time.Duration(trigger*float64(g.Heap)) {
		h.marking, h.goal, h.toMark, h.credit = true, g.Heap, g.Heap, 0
	}
	return assist
}

// mark notes that so much was marked. In the end as much is marked as garbage was left.
func (h *heap) mark(d time.Duration) {
	h.toMark -= d
	h.done += d
	if h.marking && h.toMark <= 0 {
		h.marking = false
	}
	if !h.marking {
		h.left -= h.done
		h.done = 0
	}
}

// beside returns how much of d a working processor marks.
func (h *heap) beside(d time.Duration) time.Duration {
	if !h.marking {
		return 0
	}
	return min(d/4, h.toMark)
}
