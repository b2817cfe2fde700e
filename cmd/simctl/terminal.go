package main

import (
	"io"
	"os"

	"github.com/mattn/go-isatty"
)

// isTerminal reports whether w is a terminal that understands escape sequences.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd()) && os.Getenv("TERM") != "dumb"
}

// useColor reports whether to write colours to w: only if it is a terminal and NO_COLOR is
// not set (https://no-color.org).
func useColor(w io.Writer) bool { return isTerminal(w) && os.Getenv("NO_COLOR") == "" }
