// Package deptest keeps the module's imports flowing one way: its test reads the
// import graph of every package from `go list` and holds it against a table of rules,
// each of which gives its reason.
//
// It holds no code that ships and must be imported by nothing.
package deptest
