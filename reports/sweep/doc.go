// Package sweep reports what a sweep, a metrics.Sweep, found out: as figures over its axes, as
// a summary for people, and as tables for other programs.
//
// It works on Results that exist and runs nothing; package scenarios/sweep does that. It
// writes no files and must not import chart, page or package reports.
package sweep
