// Package clientrpc lets Nomad's clients, real ones and simulated ones of other processes, call
// the servers of a cluster by Nomad's RPC protocol.
//
// Methods returns what one server answers: the calls by which clients register, heartbeat,
// learn of their allocations and report on them, and those by which they find servers. They
// reach the cluster as the calls of clients in the same process do. Workers of other processes
// can ask for evaluations, submit plans, and acknowledge or give back.
//
// The protocol itself is package nomadrpc's. This package must not import what drives a
// cluster.
package clientrpc
