// Package garbage says how large the heap of a run may grow, and has it collected.
//
// A run on virtual time has one processor, since the order of its goroutines must repeat. Go collects
// garbage on that one, too, which is a quarter of a large run's time, while the others idle. When no
// goroutine of the run can go on before virtual time does, a second processor finds nothing to run,
// and nobody's order depends on it. Those moments come every few milliseconds: the run's bubble asks whether
// a collection is Due, and Collect does it on all processors. Go's own, on one, comes where they do not.
//
// It knows nothing of what it is the garbage of.
package garbage
