// Package forecast says what runs will cost the machine: processor time and memory, first by
// the formulae of package closedform, then by how the runs go.
//
// It knows nothing of where runs go, and must not import the sweep or the commands.
package forecast
