// Package testcerts makes certificates for tests: of an authority, and those that it signs.
//
// It must not import anything of this module, nor package testing.
package testcerts
