package planless

import (
	"fmt"
	"slices"
	"time"
)

// Designs are the designs by name, the central planner first.
var Designs = []struct {
	Name string
	New  func(*World) Design
}{
	{"central", newCentral},
	{"omega", newOmega},
	{"auction", newAuction},
	{"sparrow", newSparrow},
	{"join-idle-queue", newJoinIdle},
}

// Counts count over the whole simulation.
type Counts struct {
	Placements  int
	Lost        int // placements that ended with their node
	LogWrites   int // to a replicated log
	LocalWrites int // to nodes' own disks
	Messages    int
	Conflicts   int
}

// Point is how many allocations had no place, or did not run, at an instant.
type Point struct {
	At      time.Duration
	Waiting int
}

// Quality is how good the places are at an instant.
type Quality struct {
	Running, Waiting int
	// InUse is the share of the nodes there that run anything. Largest is how many more allocations
	// of the largest size fit, as a share of what would fit if all free room were in one piece.
	InUse, Largest float64
	// Together is the share of the allocations that run beside another of their job, and Rack
	// the largest share of a job in one rack, on average over the jobs.
	Together, Rack float64
}

// Outcome is what came of a simulation.
type Outcome struct {
	Counts
	Allocs int
	// Wait is how long allocations waited for a place, from when it was known that they need one until they ran.
	WaitP50, WaitP99, WaitMax time.Duration
	// Filled, Flapped and Emptied are the places after all jobs came, after the flapping, and
	// after the exit.
	Filled, Flapped, Emptied Quality
	// ExitLost counts the allocations that were lost with the nodes that left together. ExitP50 and ExitMax are how long
	// allocations waited that began to run after that.
	ExitLost         int
	ExitP50, ExitMax time.Duration
	// Series samples those that wait, each second.
	Series []Point
}

// Run simulates a design. The error says which rule it broke: a node over its capacity, an
// allocation placed twice, or one on a node that is not there.
func Run(p Params, create func(*World) Design) (*Outcome, error) {
	w := newWorld(p)
	w.design = create(w)
	for _, n := range w.Nodes {
		w.design.Joined(n)
	}
	w.submit()
	w.sample()
	out := &Outcome{Allocs: len(w.allocs)}
	w.until(filling)
	out.Filled = w.quality()

	racks := w.racks()
	flapping := racks[:int(p.Share*float64(len(racks))+0.5)]
	for _, r := range flapping {
		w.After(p.Up.draw(w.fleet)/2, func() { w.flap(r) })
	}
	w.until(filling + p.Flapping + resting)
	out.Flapped = w.quality()

	lost, waited := w.count.Lost, len(w.waits)
	var leaving []*Node
	for _, r := range racks[len(racks)-int(p.Exit*float64(len(racks))+0.5):] { // those that did not flap first
		leaving = append(leaving, r...)
	}
	w.leave(leaving)
	w.until(w.Now + emptying)
	out.Emptied, out.ExitLost = w.quality(), w.count.Lost-lost
	out.Counts, out.Series = w.count, w.series
	out.ExitP50, _, out.ExitMax = quantiles(slices.Clone(w.waits[waited:]))
	out.WaitP50, out.WaitP99, out.WaitMax = quantiles(w.waits)
	if w.broken != nil {
		return out, fmt.Errorf("planless: %w", w.broken)
	}
	return out, nil
}

// quantiles sorts durations and returns the middle, the one that 99 of 100 do not exceed, and the longest.
func quantiles(d []time.Duration) (p50, p99, longest time.Duration) {
	slices.Sort(d)
	if n := len(d); n > 0 {
		return d[n/2], d[n*99/100], d[n-1]
	}
	return 0, 0, 0
}

// until lets the world go on until an instant.
func (w *World) until(end time.Duration) {
	for w.queue.Len() > 0 && w.queue.Items[0].at <= end && w.broken == nil {
		e := w.queue.Pop()
		w.Now = e.at
		e.do()
	}
	w.Now = end
}

// submit has jobs come in the first half of the filling, until they ask for Fill of all room.
func (w *World) submit() {
	all, asked := w.Room.times(w.Params.Nodes), Size{}
	for job := 0; ; job++ {
		size := w.Sizes[w.fleet.IntN(len(w.Sizes))]
		asked = asked.add(size.times(w.Count))
		if all.load(asked) > w.Fill {
			return
		}
		var allocs []*Alloc
		for range w.Count {
			allocs = append(allocs, &Alloc{ID: len(w.allocs) + len(allocs), Job: job, Size: size})
		}
		w.allocs = append(w.allocs, allocs...)
		w.After(time.Duration(w.fleet.Int64N(int64(filling/2))), func() {
			for _, a := range allocs {
				a.called = w.Now
			}
			w.design.Want(allocs)
		})
	}
}

// racks returns the nodes of each rack, in an order by lot.
func (w *World) racks() [][]*Node {
	racks := make([][]*Node, w.Params.Racks)
	for _, n := range w.Nodes {
		racks[n.Rack] = append(racks[n.Rack], n)
	}
	w.fleet.Shuffle(len(racks), func(i, j int) { racks[i], racks[j] = racks[j], racks[i] })
	return racks
}

// flap makes a rack leave, and come back and so on until the flapping is over.
func (w *World) flap(rack []*Node) {
	if w.Now > filling+w.Flapping {
		return
	}
	w.leave(rack)
	w.After(w.Down.draw(w.fleet), func() {
		w.comeBack(rack)
		w.After(w.Up.draw(w.fleet), func() { w.flap(rack) })
	})
}

// sample notes each second how many allocations that were called for do not run.
func (w *World) sample() {
	waiting := 0
	for _, a := range w.allocs {
		if !a.running && (a.called > 0 || a.Placed()) {
			waiting++
		}
	}
	w.series = append(w.series, Point{w.Now, waiting})
	w.After(time.Second, w.sample)
}

// quality looks at all places.
func (w *World) quality() Quality {
	var q Quality
	var free Size
	there, used, largest := 0, 0, 0
	big := slices.MaxFunc(w.Sizes, func(a, b Size) int {
		return a.CPU*w.Room.Memory + a.Memory*w.Room.CPU - b.CPU*w.Room.Memory - b.Memory*w.Room.CPU
	})
	fit := func(s Size) int { return min(s.CPU/big.CPU, s.Memory/big.Memory) }
	for _, n := range w.Nodes {
		if n.away {
			continue
		}
		there++
		if len(n.allocs) > 0 {
			used++
		}
		free = free.add(n.Free)
		largest += fit(n.Free)
	}
	type spot struct{ job, at int }
	beside, racks, sizes := map[spot]int{}, map[spot]int{}, map[int]int{}
	for _, a := range w.allocs {
		if !a.running {
			q.Waiting++
			continue
		}
		q.Running++
		beside[spot{a.Job, a.node.ID}]++
		racks[spot{a.Job, a.node.Rack}]++
		sizes[a.Job]++
	}
	together, most := 0, map[int]int{}
	for _, n := range beside {
		if n > 1 {
			together += n
		}
	}
	for s, n := range racks {
		most[s.job] = max(most[s.job], n)
	}
	share := 0.0
	for job := range len(w.allocs) / w.Count {
		if sizes[job] > 0 {
			share += float64(most[job]) / float64(sizes[job]) / float64(len(sizes))
		}
	}
	q.InUse = float64(used) / float64(max(there, 1))
	q.Largest = float64(largest) / float64(max(fit(free), 1))
	q.Together, q.Rack = float64(together)/float64(max(q.Running, 1)), share
	return q
}
