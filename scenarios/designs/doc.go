// Package designs names what Nomad could do otherwise: changes of the evaluation broker and of
// what writes its evaluations. A design is a word that follows the name of a broker, as in
// shedding+restore-best.
//
// A design is one file, such as restore_best.go, that registers it. From then on every
// command and scenario file knows its word.
package designs
