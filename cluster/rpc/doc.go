// Package rpc holds the wire types between clients, servers and users of the simulated
// control plane, and the one interface that clients need of servers.
//
// It is a leaf and must not import anything of this module, so that fleet and cluster can
// be built and tested without each other. Evaluations belong to package broker: clients
// never see them.
package rpc
