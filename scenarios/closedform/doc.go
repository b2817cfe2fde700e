// Package closedform estimates what a storm of heartbeats costs: evaluations, Raft entries and
// times under the old and the new broker, each by a formula that is returned beside its value.
// Solve finds how far settings can go until such a figure exceeds a limit.
//
// It checks the simulation and answers at once where a simulation takes hours. What a formula
// leaves out is said where it stands. The package runs nothing and must not import the sweep,
// reports or the commands.
package closedform
