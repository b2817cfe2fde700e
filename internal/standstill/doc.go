// Package standstill tells virtual time that stands still from a machine that is slow, and
// names the goroutines that hold it up.
//
// It must not import any package of this module, and watches bubbles without knowing them.
package standstill
