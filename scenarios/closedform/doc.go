// Package closedform works out what a storm of heartbeats costs on paper: evaluations, Raft
// entries and times under the old and the new broker, each by a formula that is returned
// beside its value.
//
// It is a sanity check of the simulation and a quick answer where hours of it are too many;
// what it leaves out is said at each formula. It runs nothing, and must not import the sweep,
// reports or the commands.
package closedform
