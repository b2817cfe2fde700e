// Package cpu charges work to a bounded number of cores on the run's own clock. It is the
// one place where computing takes time, and knows nothing of what the work is.
//
// A Pool lets tasks take turns on cores. A Machine has threads of processes on its cores, as
// Linux has, and a Process has goroutines on its threads and a heap, as Go has.
//
// It must not import anything of this module.
package cpu

import "time"

// Cores are what work is charged to: a Pool, or a Process of a Machine. Both are safe for concurrent use.
type Cores interface {
	// Do is a sleep, work that takes d of CPU time, and another sleep. Callers at one instant must
	// have different keys. The caller must not hold a lock.
	Do(key uint64, before, d, after time.Duration)
	// Receive is Do of work on what the network brings after the first sleep.
	Receive(key uint64, before, d, after time.Duration)
	// Spend is Do without waiting, for work beside the caller.
	Spend(key uint64, d time.Duration)
	// Allocate is Do of work that leaves garbage.
	Allocate(key uint64, d time.Duration, left Garbage)
}

// Meter tells what a set of cores was used for, and ends its use.
type Meter interface {
	// Busy returns the CPU time spent so far, over all cores.
	Busy() time.Duration
	// Cores returns the number of cores.
	Cores() int
	// Stop releases timers. Tasks that wait for others never finish.
	Stop()
}
