// Package language reads scenario files: HCL text in, plain data out, or an Error that
// shows file, line and snippet. It runs nothing and knows no simulator.
//
//	Open    reads the syntax, the title and the variables a file declares.
//	Define  gives the variables their values and works everything else out.
//	Format  lays a file out the way hclwrite does.
//
// A Vocabulary of structs says what a file can say about events, conditions, behaviours, the
// cluster and its costs. Define fills copies of them. A field is an attribute and a nested
// struct is a block, both named as in Go but in snake case. Tags (fields.go) restrict values.
//
// The package imports HCL and the standard library, and must not import anything of this
// module: package scenarios gives the keywords their meaning.
package language
