// Package calibrate fits what work costs to runs on real servers: factors on a few groups of
// costs, by how long phases took, and never by what came of them.
//
// A search knob by knob simulates the runs with ever other factors. How well the result does on
// runs that it has not seen is told by leaving each run out in turn. The package must not import
// what shows the outcome.
package calibrate
