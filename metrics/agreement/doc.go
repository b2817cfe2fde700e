// Package agreement says how far simulated runs agree with real ones of the same parameters.
//
// A figure is compared by its median over the runs of each side. It agrees if the ranges of both
// sides meet: then the difference is no larger than that of repeats. The package must not import
// what makes runs, nor what shows them.
package agreement
