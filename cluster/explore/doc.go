// Package explore proves, within its Bounds, what the leader's service promises: the broker with
// the line of workers that wait for it, the workers, the plan queue and the applier. It searches
// every interleaving of a small system: two jobs, two nodes of which one goes down, nack timers,
// lost answers and a change of leader.
//
// Real are broker.EvalBroker, leader.Line, leader.PlanBase, the schedulers, the verification of
// plans, the entries of the log and the state. Goroutines, queues and the network are a model. In
// every reachable state it checks:
//
//   - no lost wake-up: if no finished run has seen a job's latest trigger, the broker holds an
//     evaluation of the job that a worker will get; nobody waits while one is ready; and whatever
//     was given out is known to a worker, or its nack timer runs.
//   - no plan applied twice: no allocation runs twice.
//   - no node overcommitted.
//   - no allocation on a node that was down in the state on which its plan was made.
//   - convergence: when nobody has anything to do, every job runs on a node that is up.
//
// docs/adr/0508 says what the search leaves out, and what it found. The package starts no server
// and must not import one.
package explore
