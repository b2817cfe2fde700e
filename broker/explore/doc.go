// Package explore searches every interleaving of a small system around a real
// broker.EvalBroker: triggers, workers with snapshots, nack timers, late acks, the
// reapers, failing Raft writes, the loss of leadership and the restore after it. It is
// the proof, within its Bounds, that a broker.Policy loses nothing that is needed.
//
// In every reachable state it checks:
//
//   - conservation: every evaluation is where the calls so far must have put it, held
//     once or not at all, and what is neither finished nor in the broker was dropped by a
//     failed Raft write;
//   - serialisation: a job has at most one evaluation in flight;
//   - no lost wake-up: a job whose latest trigger no finished scheduling run has seen
//     still has an evaluation that some worker is going to get;
//   - the protocol: a call under a valid token succeeds, one under an invalid token fails.
//
// The search is breadth-first, so that the first violation found has a shortest
// history; that is printed as a script in the language of broker/testdata. The broker is
// cloned for each step, and states are equal when their canonical descriptions are: jobs
// and workers are interchangeable, finished evaluations do not matter, and time counts
// only by the order of deadlines. A policy must therefore not look at IDs or job names.
//
// The package imports the standard library and broker only; it must not import
// cluster, whose servers and workers it models instead.
package explore
