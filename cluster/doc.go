// Package cluster runs Nomad's control plane in one process: servers on
// hashicorp/raft, each with its state store, scheduler workers and, while it leads,
// the evaluation broker, plan queue and applier, heartbeat timers and reapers.
//
// The package owns every goroutine and lock of the control plane; what it decides with
// is pure and lives below it (package broker, cluster/scheduler, cluster/state). It
// reads time only through package time, so the same code runs on the wall clock and,
// inside a testing/synctest bubble, on virtual time. Two rules keep virtual time
// moving and repeatable: no mutex is held across a sleep, a channel wait or a Raft
// apply, and every actor draws from a random source of its own.
//
// It must not import clients (nodesim), scenarios or reports.
package cluster
