// Package words keeps the keywords of scenario files: for each the struct that its block
// fills, and what becomes of a filled copy.
//
// It knows nothing of what the keywords mean and imports nothing of this module.
package words

import "fmt"

// Registry holds keywords whose blocks become a T. Making a T takes a C, what there is to
// know about the rest of the file. Keywords are added while packages are initialised and
// only read afterwards.
type Registry[C, T any] map[string]word[C, T]

type word[C, T any] struct {
	defaults any
	make     func(args any, c C) (T, error)
}

// Add adds a keyword to the registry: the defaults of its block, and what becomes of a
// filled copy of them. A keyword that is there already is a mistake in the program.
func Add[A, C, T any](r Registry[C, T], keyword string, defaults A, make func(A, C) (T, error)) {
	if _, twice := r[keyword]; twice {
		panic(fmt.Sprintf("words: %q is declared twice", keyword))
	}
	r[keyword] = word[C, T]{&defaults, func(args any, c C) (T, error) { return make(*args.(*A), c) }}
}

// Make returns what a block of the keyword stands for, given its filled struct.
func (r Registry[C, T]) Make(keyword string, args any, c C) (T, error) {
	return r[keyword].make(args, c)
}

// Prototypes returns pointers to the defaults by keyword, to be copied and filled.
func (r Registry[C, T]) Prototypes() map[string]any {
	out := map[string]any{}
	for keyword, w := range r {
		out[keyword] = w.defaults
	}
	return out
}
