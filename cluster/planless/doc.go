// Package planless compares ways to find a machine for an allocation without one planner that
// decides for all: an auction, Sparrow, Join-Idle-Queue and Omega, beside a central planner.
//
// It simulates events on a clock of its own, in one goroutine and with no cluster: nodes that come
// and go, allocations that need a place, messages between schedulers and nodes. Each Design is one file
// that decides who asks whom. A World does the rest, alike for all: it moves time and nodes,
// notices which nodes are silent, holds every design to the same rules, and measures.
//
// Equal Params give equal Outcomes.
package planless
