// Package language reads scenario files: HCL text in, plain data out, or an Error that
// shows file, line and snippet. It runs nothing and knows no simulator.
//
//	Open    reads the syntax, the title and the variables a file declares.
//	Define  gives the variables their values and works everything else out.
//	Format  lays a file out the way hclwrite does.
//
// What a file can say about events, end conditions, behaviours, the cluster and its costs
// is not written down here: Define is handed a Vocabulary of structs and fills copies of
// them. A field is an attribute, a nested struct a block, both named as in Go but in snake
// case; tags (decode.go) say what values are allowed.
//
// It imports HCL and the standard library, and must not import anything of this module:
// package scenarios gives the words their meaning.
package language
