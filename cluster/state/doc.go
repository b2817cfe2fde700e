// Package state is the store the servers' state machine writes to: nodes, jobs,
// allocations and evaluations, in hashicorp/go-memdb, with snapshots that cost nothing
// to take and running counts that belong to the snapshot they are read from.
//
// There is one Store on each server. One writer, the server's FSM, applies committed log
// entries to it through Update (or the methods that wrap it), each under its Raft index;
// any number of readers take Snapshots. An object is immutable once it is in the store:
// readers share the pointers, and whoever wants to change one copies it first.
//
// Behaviour follows nomad/state/state_store.go of Nomad v1.4.3; what differs is how
// questions are answered that Nomad answers by scanning. Per node and per job one small
// row is kept up to date with what is asked most (see NodeAllocs and JobAllocs).
//
// It imports broker and cluster/rpc, and must not import the cluster or its schedulers.
// What is stored depends on the log alone, never on a clock or a random draw.
package state
