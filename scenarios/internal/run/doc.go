// Package run runs a Scenario: it starts a cluster and a fleet, goes through the phases, takes
// samples, and has what came of it judged and recorded as a Result.
//
// On virtual time all of that is in a bubble, in a process that must be a run's own. The package
// reads no files; it must not import what compiles scenarios, nor what starts processes.
package run
