// Package rusage reports the processor time and memory that this process has used so far, and of its
// machine the processor time and how fast memory is. It serves benchmarks and reports,
// never the simulation: virtual time knows nothing of it.
//
// It must not import any package of this module.
package rusage
