// Package streams is a control plane without a leader, as wadm's, wasmCloud's, on NATS JetStream: durable
// streams carry changes of nodes to evaluations, and evaluations to plans, and whoever takes
// a message acknowledges it only after what it led to is written.
//
// The JetStream is a real one, an embedded nats-server that lives in the bubble. A Cluster is
// driven as the simulated cluster of package cluster is: the same clients, schedulers, scenarios and figures. Every server
// runs the same four parts:
//
//   - a view, which folds the stream of changes into a state (view.go);
//   - timers of the clients' heartbeats (beats.go);
//   - a taker of changes of nodes, which writes evaluations (changes.go);
//   - workers, which take evaluations and write plans (worker.go).
//
// There are two streams. STATE has what happened, one subject for each node, job, and job's
// plans; its sequence is the index of the state. EVALS has the evaluations to work on, one
// subject for each job. With Options.LastOnly it keeps one message of each subject, the
// last: that is load shedding.
//
// The program does not import this package, which would make it a third larger. Package
// internal/streamruns is the command that runs it.
package streams
