// Package nomadtls is TLS as Nomad's clients and servers use it: the three files that each of them
// has, the name that servers go by, and what users can do about a connection that fails.
//
//	files.go   certificates and keys
//	explain.go what is wrong
package nomadtls
