// Package server is one Nomad server: a process with its Raft node, its state, its
// endpoints and scheduler workers, and with the plan applier and what else it runs while
// it leads (package leader).
//
// Endpoints that change something are methods that must be called on the leader. [Forward]
// finds it and charges the way there to both servers. [ToLeader] carries a call from outside
// the cluster there, and [ClientToLeader] that of a client, over its link. Effects of applied
// entries reach the leader's parts in one place, (*Server).perform.
//
// The package must not import clusters, clients or scenarios.
package server
