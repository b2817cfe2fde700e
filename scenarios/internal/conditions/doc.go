// Package conditions is what ends a phase. Each condition stands in one file, which has its
// keyword and the attributes of its block.
//
// A condition judges by what samples of cluster and fleet have shown in its phase, a Watch. It
// changes nothing, and must not import what runs scenarios.
package conditions
