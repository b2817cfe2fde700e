package fsm

import (
	"crypto/sha256"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/simctl/simctl/cluster/state"
)

// Layout returns a hash of what the bytes of entries and of snapshots mean to this build: the types
// of entries in their order, and the fields of requests and rows. A build with another one must
// not read them, since neither has field names.
func Layout() string {
	h := sha256.New()
	for _, k := range kinds {
		fmt.Fprintf(h, "%s ", k.name)
		if k.request != nil {
			describe(h, k.request, nil)
		}
	}
	for _, t := range state.Persisted() {
		describe(h, t, nil)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:16])
}

// describe writes what of a type its encoding depends on. Outer are the structs that it is part of.
func describe(w io.Writer, t reflect.Type, outer []reflect.Type) {
	fmt.Fprintf(w, "%v ", t.Kind())
	switch t.Kind() {
	case reflect.Map:
		describe(w, t.Key(), outer)
		describe(w, t.Elem(), outer)
	case reflect.Array:
		fmt.Fprintf(w, "%d ", t.Len())
		describe(w, t.Elem(), outer)
	case reflect.Slice, reflect.Pointer:
		describe(w, t.Elem(), outer)
	case reflect.Struct:
		if at := slices.Index(outer, t); at >= 0 {
			fmt.Fprintf(w, "%d ", at)
			return
		}
		for f := range t.Fields() {
			if f.IsExported() {
				fmt.Fprintf(w, "%s %s ", f.Name, f.Tag.Get("codec"))
				describe(w, f.Type, append(slices.Clip(outer), t))
			}
		}
	}
}
