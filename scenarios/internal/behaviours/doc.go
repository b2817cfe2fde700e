// Package behaviours is what clients do by themselves: flap, stop, are replaced, change, or
// follow a trace. Each kind is one file, which declares its keyword.
//
// A behaviour acts on a fleet. The package must not import the cluster, nor the actions that
// begin and end behaviours.
package behaviours
