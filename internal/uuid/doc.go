// Package uuid writes 128 bits as UUIDs, and keeps sets of them. Where the bits come from is the caller's affair:
// nothing here reads the machine's randomness, so that IDs repeat from run to run.
//
// It is a leaf and must not import anything of this module. The libraries for UUIDs draw
// from crypto/rand and bring database/sql or fmt with them.
package uuid
