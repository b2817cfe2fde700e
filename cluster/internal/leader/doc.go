// Package leader is what a server runs while it leads, but for its plan applier: the
// evaluation broker as a blocking service, the blocked evaluations, the plan queue, the
// heartbeat timers, the reapers, and the watchers of deployments, drains and periodic jobs.
//
// Each part sees its server through [Log], five methods: it reads the state, writes
// entries, and says what caused them. The state machine's effects reach the parts as calls
// (…Changed, Block, Unblock); while the server does not lead they ignore those. A part is
// started and stopped with a leadership, and joins its goroutines when it stops.
//
// The package must not import Raft nodes or servers.
package leader
