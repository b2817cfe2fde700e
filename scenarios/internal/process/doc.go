// Package process runs children: this program again, as processes of their own that read what to
// run from stdin and write progress and outcome to stdout, as lines of JSON. It shares memory out
// among those that go side by side, tunes their garbage collection, and profiles them on demand.
//
// It must not import what compiles scenarios: what a child reads is the caller's.
package process
