// Package run runs a Scenario: it starts a cluster and a fleet, goes through the phases, takes
// samples, records a Result and has package judge check it.
//
// On virtual time a run lives in a bubble, and needs a process of its own. The package reads no
// files. It must not import what compiles scenarios, nor what starts processes.
package run
