// Package calibrate fits what work costs to runs on real servers: by how long their processors were busy, if the runs say that, and
// else by how long phases took. It never fits by what came of them.
//
// A search simulates the runs with ever other costs. How well the result does on runs that it has not seen is told by leaving each run
// out in turn. The package must not import what shows the outcome.
package calibrate
