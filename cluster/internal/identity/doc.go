// Package identity is what clients authenticate themselves with since Nomad 1.11: tokens that
// servers sign, good for a while.
//
// It must not import what runs servers.
package identity
