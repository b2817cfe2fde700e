// Package remote reaches servers that speak Nomad's RPC protocol over TCP, real ones or
// simulated: it is the rpc.NodeServer for a fleet whose servers are in other processes.
//
// Servers (servers.go) has a few connections to each server (links.go), which all clients share.
// Clients whose connection a server refuses use another one until it lets them in. A client's
// watch has a stream of its own on one of them, and a goroutine. The identity of each node, and
// the allocations that it has fetched, are kept here between calls (node.go): the fleet's clients
// know no tokens, and get their allocations in one call rather than two.
//
// What differs from release to release is in one table (habits.go). The models are
// client/client.go and client/rpc.go of Nomad 1.4.3, 1.6.0 and 2.0.5.
//
// A node's secret is a UUID made from its ID, so that a fleet that is started again with the
// same seed is the same machines. It is no secret from anybody who has this program.
package remote
