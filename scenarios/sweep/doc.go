// Package sweep runs a scenario at many settings and finds out where its limits are.
//
//	Axis      what is varied, parsed from text such as nodes=1000..20000:log5 (axis.go)
//	Study     the question: axes, brokers, seeds, limits and a Design; its Plan is the runs
//	Design    which cells to run: a grid, a Latin hypercube, one axis at a time, or the
//	          bisection of an axis to its knee
//	Executor  where a run goes: a process of this machine (Local) or a dispatched job of a
//	          Nomad cluster (Nomad)
//	Journal   what has finished, so that a sweep that was stopped goes on where it was
//
// Every cell runs as a Spec through package scenarios, in a process of its own; the outcome
// is a metrics.Sweep. How it looks is none of its business: it must not import reports or
// the commands, nor start clusters or fleets itself.
package sweep
