// Package nodes runs a fleet of simulated clients against servers in other processes, real
// Nomad's above all, on the wall clock.
//
// It knows no cluster: where scenarios drive the servers, too, other packages do that. The
// clients are those of every scenario (nodesim), and so are their behaviours.
package nodes
