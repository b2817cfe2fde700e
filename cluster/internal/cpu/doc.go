// Package cpu charges work to a bounded number of cores on the run's own clock. It is the
// one place where computing takes time, and knows nothing of what the work is.
//
// It must not import anything of this module.
package cpu
