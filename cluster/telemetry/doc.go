// Package telemetry gives the figures of a cluster on the wall clock Nomad's names, in the two
// forms of /v1/metrics: a summary of ten seconds in JSON, and the text format of Prometheus.
//
// Gauges are looked at once a second; samples come from the entries that servers apply and from
// what the leader's broker tells its observer. The sinks are those that Nomad uses.
//
// The package must not import what serves it.
package telemetry
