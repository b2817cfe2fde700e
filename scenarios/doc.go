// Package scenarios says what a run is and runs it: a cluster, a fleet, jobs, and phases
// of events with conditions that end them, measured into one Result.
//
//	Spec      one run, as text: what a child process is handed. It carries the
//	          text of a scenario file, or the name of one of catalogue/*.hcl, and the
//	          values of its variables.
//	Scenario  what a Spec stands for, worked out (scenario.go): declarative, nothing runs.
//	RunOne    runs a Spec in this process, on virtual time or on the wall clock.
//	RunAll    runs several side by side, each in a process of its own.
//
// On virtual time everything happens in a bubble (internal/bubble), in a process with one
// processor and seeds for every random source: a Spec run twice gives the same Result, but
// for Host.
//
// Packages below: it starts cluster and nodesim and writes metrics. It must not import
// reports or the commands.
package scenarios
