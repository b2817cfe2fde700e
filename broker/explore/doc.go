// Package explore proves, within its Bounds, that a broker.Policy loses no evaluation that
// is needed. It searches every interleaving of a small system around a real
// broker.EvalBroker: triggers, workers with snapshots, nack timers, late acks, the reapers,
// failed Raft writes, the loss of leadership and the restore after it.
//
// In every reachable state it checks:
//
//   - conservation: each evaluation is where the calls so far must have put it, and the
//     broker holds it once or not at all. One that is neither finished nor in the broker
//     was dropped by a failed Raft write.
//   - serialisation: a job has at most one evaluation in flight.
//   - no lost wake-up: if no finished scheduling run has seen a job's latest trigger, the
//     job has an evaluation that a worker will get.
//   - protocol: a call under a valid token succeeds, and one under an invalid token fails.
//
// A depth-first search visits every state, which takes little memory. If one violates a
// property, a breadth-first search finds a shortest history of a violation and prints it
// as a script in the language of broker/testdata. Two states are the same if their
// canonical descriptions are: jobs and workers are interchangeable, finished evaluations do
// not matter, and of time only the order of deadlines does. So a policy must not look at
// IDs or job names.
//
// RunJobs does the same for a workqueue.Queue, whose jobs are called for. There it also checks that
// a job is queued once, and that a worker's state is as new as the latest call.
//
// The package imports the standard library, package broker and its scripts. It must not
// import cluster, whose servers and workers it models instead.
package explore
