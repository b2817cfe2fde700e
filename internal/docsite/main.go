// Command docsite turns the documents of the repository into a site of static pages, with
// contents and a search that needs no server: it opens from a directory as well as from the
// web. make site runs it. A link that leads nowhere is an error.
//
// It must not import the rest of the program.
package main

import (
	"errors"
	"fmt"
	"os"
)

func main() {
	err := errors.New("usage: docsite DIRECTORY, from the root of the repository")
	if len(os.Args) == 2 {
		err = build(os.DirFS("."), os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "docsite:", err)
		os.Exit(1)
	}
}
