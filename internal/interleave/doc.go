// Package interleave visits every state that a small system can reach, whatever its actors do
// first, and finds a shortest history that breaks a promise.
//
// A System says how it begins, which steps a state allows, and what each does to it. Two states
// with the same key are the same state. Package broker/explore searches a broker this way, and
// cluster/explore the service around it.
package interleave
