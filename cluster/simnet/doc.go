// Package simnet is the network of a simulated cluster: links among servers and between
// clients and servers, with delay, loss and partitions, and a raft.Transport over them.
//
// The delay of a message is a pure function of the seed, the link, the kind of message and
// the instant of sending. It is no draw from a shared source, which would depend on the
// order in which the runtime runs senders of one instant: runs on virtual time repeat.
//
// The package imports raft, and must not import anything of this module.
package simnet
