// Package fsm is the replicated state machine as a pure function: a state and an entry of
// the Raft log give the next state, and [Effects] that say what the leader's parts are to
// hear of it (nomad/fsm.go). It has no goroutines, no clock and no server; whoever calls
// [Command.Apply] charges [Command.Cost] and hands the effects on.
//
// An entry is declared once, in one place: the request it carries, Nomad's name of its
// type, what applying it costs and does, and the events that cause it. The registry behind
// [Declare] gives it its type byte and its codec, and the account of the log its lines. The
// order of declarations is that of the account; files come in the order of their names.
//
//   - job.go: jobs, scaling and the scheduler configuration, written for users
//   - node.go: registrations, status, events, eligibility and drains of nodes
//   - scheduling.go: evaluations, plans, allocations and deployments
//   - system.go: garbage collection, and the entries that Raft itself writes
//
// The package must not import servers, leaders or Raft nodes.
package fsm
