// Package sweep runs a scenario at many settings and finds out where its limits are.
//
//	Axis      what is varied, parsed from text such as nodes=1000..20000:log5 (axis.go)
//	Study     the question: axes, brokers, seeds, limits and a Design; its Plan is the runs
//	Design    which cells to run: a grid, a Latin hypercube, one axis at a time, or the
//	          bisection of an axis to its knee
//	Executor  where a run goes: Local runs it as a process of this machine; package nomad
//	          below dispatches it to a Nomad cluster
//	Journal   what has finished, so that a sweep goes on where it was stopped
//
// Every cell runs as a Spec through package scenarios, in a process of its own. The outcome
// is a metrics.Sweep, and its looks are another package's business: this one must not import
// package nomad, reports or the commands, nor start clusters or fleets itself.
package sweep
