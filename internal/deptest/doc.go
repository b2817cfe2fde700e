// Package deptest keeps the module's imports flowing one way. Its test reads the import
// graph of every package from `go list` and checks it against a table of rules. Each rule
// gives its reason. Another test keeps files and packages small.
//
// The package has no code that ships, and nothing may import it.
package deptest
