// Package scenarios says what a run is and has it run: a cluster, a fleet, jobs, and phases
// of events with conditions that end them, measured into one Result.
//
//	Spec      one run, as text: what is written to files and handed to a child process. It
//	          carries the text of a scenario file, or the name of one of catalogue/*.hcl,
//	          and the values of its variables.
//	Compile   works out what a Spec stands for; nothing runs. A Compiled answers whatever
//	          can be asked of a run before it has run.
//	RunOne    runs a Spec in this process, on virtual time or on the wall clock.
//	RunAll    runs several side by side, each in a process of its own.
//
// A Spec that runs twice on virtual time gives the same Result, but for Host. What an event
// does, what ends a phase, how a run goes on and who judges it are packages below
// internal. This package must not import the reports, the commands, or packages beside it
// that run Specs.
package scenarios
