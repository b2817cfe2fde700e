// Package serve runs a simulated cluster on the wall clock and lets Nomad's own tools talk to
// it, until it is told to end.
//
// A cluster that is served has no scenario. Users of its HTTP API register jobs, drain nodes
// and pause the broker; clients come from a fleet in the same process, if one is asked for.
// Listeners are on loopback addresses unless the caller allows others, which takes a token.
package serve
