// Package state is what the servers' state machine writes to: nodes, jobs, evaluations,
// allocations and deployments, and counts of them.
//
// A Snapshot is the state as of one Raft index. It never changes: applying a log entry
// makes the next one, which shares all rows but the changed ones. A Store holds the
// current Snapshot of one server and wakes those who wait for a change of it. Its one
// writer, the server's FSM, applies committed entries with Update or takes over with
// Adopt what another server made of them; any number of readers take Snapshots. Objects
// are immutable once they are stored: whoever wants to change one copies it first.
//
// Behaviour follows nomad/state/state_store.go of Nomad v1.4.3. What Nomad finds by
// scanning is counted here: one small row for each node and each job answers what is
// asked most (see NodeAllocs, JobAllocs and JobEvals).
//
// The package imports broker and cluster/rpc, and must not import the cluster or its
// schedulers. What is stored depends on the log alone, never on a clock or a random draw.
package state
