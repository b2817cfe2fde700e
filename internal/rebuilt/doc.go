// Package rebuilt tests what only a program built from changed sources can show. One build serves
// them all, since it takes a minute: with every diff of docs/adding.md, and with a broker policy
// that breaks when it is told to.
package rebuilt
