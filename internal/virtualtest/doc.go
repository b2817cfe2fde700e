// Package virtualtest bounds tests on virtual time: a test that hangs fails soon, by itself and
// with the goroutines that are to blame, where go test would wait for its own timeout and blame
// the whole package.
//
// Only tests import it. It must not import anything that is tested with it.
package virtualtest
