// Package cpu charges work to a bounded number of cores on the run's own clock. It is the
// one place where computing takes time, and knows nothing of what the work is.
//
// A Pool lets tasks take turns on cores. A Machine has threads of processes on its cores, as
// Linux has, and a Process has goroutines on its threads and a heap, as Go has.
//
// It must not import anything of this module.
package cpu

import "time"

// Work is what a task does: it sleeps for Before, takes CPU time, and sleeps for After. In between it may wait in the kernel.
type Work struct {
	// Key tells the work of one instant apart.
	Key                  uint64
	Before, Takes, After time.Duration
	// Turn is where a goroutine waits for its turn.
	Turn Turn
	// Over is the connection over which the network brings something, if others share that. Zero: it is the task's own.
	Over uint64
	// Waits is how often it waits in the kernel, for Wait each time, and then takes Resume of CPU time.
	Waits        int
	Wait, Resume time.Duration
	// Left is the garbage that it leaves.
	Left Garbage
}

// Turn is where a goroutine waits that has become ready.
type Turn int

const (
	// InTurn is behind all that are ready: the goroutine that woke it goes on, or has woken others, too.
	InTurn Turn = iota
	// Next is before all that are ready: it had a processor until now, or the goroutine that woke it did, and stops.
	Next
	// FromNetwork is behind all that are ready by the time somebody looks at the network.
	FromNetwork
)

// Cores are what work is charged to: a Pool, or a Process of a Machine. Both are safe for concurrent use.
type Cores interface {
	// Do returns when work is done. Callers at one instant must have different keys. The caller must not hold a lock.
	Do(Work)
	// Spend is Do without waiting, for work beside the caller.
	Spend(key uint64, d time.Duration)
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
