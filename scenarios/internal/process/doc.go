// Package process runs this program again as child processes. A child reads what to run from
// stdin and writes progress and outcome to stdout, as lines of JSON. The package divides memory
// among the children, tunes their garbage collection, and profiles them on demand.
//
// It does not know what a child reads, and must not import what compiles scenarios.
package process
