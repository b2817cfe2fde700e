// Package rpc holds the wire types between clients, servers and users of the
// simulated control plane, and the one interface a client needs of its servers.
//
// It is a leaf: it imports the standard library only, so that a client fleet can be
// built and tested without a cluster, and a cluster without a fleet. Evaluations are
// absent on purpose; clients never see them, and they belong to package broker.
package rpc
