//go:build !nightly

package nightly

// On reports whether nobody waits for the tests.
const On = false
