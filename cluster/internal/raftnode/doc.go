// Package raftnode is one server's part in the agreement on the log: hashicorp/raft, what
// it stores, and how entries reach it. Commands are bytes to it, but for their type, which
// it remembers to count them.
//
// Raft runs unchanged. Three things around it make a run on virtual time repeat
// (docs/adr/0600): a [Node] writes entries one at an instant, from one goroutine; its
// tie breaker keeps goroutines of Raft apart that would draw at one instant; and it leaves
// Raft alone for a moment before it stops it.
//
// The package must not import the state, leaders or servers.
package raftnode
