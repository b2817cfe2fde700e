package cpu

import "time"

// Garbage is what some work leaves behind, little by little. Cost is the CPU time of collecting it, and Heap that of marking all of the
// process's heap. If Heap is zero, a task under Key collects the garbage at once.
type Garbage struct {
	Key  uint64
	Cost time.Duration
	Heap time.Duration
}

// allocates is the work of which the garbage is left at once.
const allocates = time.Millisecond

// trigger is the part of the garbage of a cycle after which marking begins (runtime/mgcpacer.go, minTriggerRatioDistance). It begins later
// only in programs that leave so little that a quarter of the processors can mark in the rest of the cycle.
const trigger = 0.7

// heap is Go's garbage collector. It measures garbage by the CPU time of collecting it. A cycle collects as much as marking
// the heap takes, and begins to mark when most of that was left. Marking takes a quarter of each processor's time, and what is left
// of that of idle ones. A processor that was idle marks its quarter first when it has a goroutine again. Goroutines that leave
// garbage meanwhile help, so that marking is over before the garbage reaches the cycle's goal.
type heap struct {
	left    time.Duration // garbage that was left and not collected yet
	goal    time.Duration // garbage that there may be when marking ends
	toMark  time.Duration // what is still to be marked in this cycle
	done    time.Duration // what was marked in it
	credit  time.Duration // marked by processors; it spares goroutines as much of their help
	marking bool
	began   time.Duration // when
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

// mark notes that so much was marked. When the cycle ends, as much garbage is gone as was marked.
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

// beside returns how much of d a working processor marks: a quarter, after what it owes.
func (h *heap) beside(on *processor, d time.Duration) time.Duration {
	if !h.marking {
		return 0
	}
	due := on.owes + d/4
	marked := min(due, d, h.toMark)
	on.owes = due - marked
	return marked
}

// leave has a goroutine leave the garbage of so much work, and help to mark.
func (g *goroutine) leave(work time.Duration) {
	helped := min(work, g.helps)
	g.helps -= helped
	work = min(work-helped, g.leaves)
	if g.Left.Cost <= 0 || work <= 0 {
		return
	}
	part := Garbage{Heap: g.Left.Heap, Cost: time.Duration(float64(g.Left.Cost) * float64(work) / float64(g.leaves))}
	g.leaves -= work
	g.Left.Cost -= part.Cost
	h := &g.of.heap
	was := h.marking
	assist := h.leave(part)
	if h.marking && !was {
		h.began = g.of.on.now
		for _, on := range g.of.processors {
			on.owes = 0
		}
	}
	g.left += assist
	g.helps += assist
}
