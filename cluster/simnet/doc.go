// Package simnet is the network of a simulated cluster: links between servers and from
// clients to servers with delay, loss and partitions, and the raft.Transport over them.
//
// A message's delay is a pure function of the seed, the link, the kind of message and
// the instant it is sent, not a draw from a shared source: messages that leave at the
// same instant get the same delays in whatever order the runtime happens to run their
// senders. That is what makes runs on virtual time repeatable.
//
// It imports raft and the standard library, and nothing of this module.
package simnet
