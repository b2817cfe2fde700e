// Command shaken writes an overlay for the go command that takes the processor from goroutines
// on virtual time at random: before one in ten of the locks they take, sends, receives, selects
// and sleeps. Whoever loses it goes behind all others, as when the runtime interrupts him. What
// depends on the order of goroutines at one instant then differs from run to run, where a busy
// machine shows it once in a thousand runs (docs/adr/0600).
//
// make shaken runs tests with it. The runtime itself is changed, in copies: the tree of Go is
// never written.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
)

// A place is a function that gives way, by its file below Go's sources.
type place struct{ file, function string }

var places = []place{
	{"runtime/time.go", "timeSleep"},
	{"runtime/chan.go", "chansend1"},
	{"runtime/chan.go", "chanrecv1"},
	{"runtime/chan.go", "chanrecv2"},
	{"runtime/select.go", "selectgo"},
	{"internal/sync/mutex.go", "Lock"},
}

// added are new files below Go's sources: what gives way, and how package sync comes to it.
var added = map[string]string{
	"runtime/shake.go": `package runtime

import _ "unsafe"

func shake() {
	gp := getg()
	if gp.bubble != nil && gp.m.curg == gp && gp.m.locks == 0 && cheaprandn(10) == 0 {
		Gosched()
	}
}

//go:linkname shakeForSync internal/sync.shake
func shakeForSync() { shake() }
`,
	"internal/sync/shake.go": `package sync

import _ "unsafe"

//go:linkname shake
func shake()
`,
}

func main() {
	flag.Usage = func() { fmt.Fprintln(flag.CommandLine.Output(), "usage: go run ./internal/shaken GOROOT DIR") }
	flag.Parse()
	if flag.NArg() != 2 {
		flag.Usage()
		os.Exit(2)
	}
	if err := write(filepath.Join(flag.Arg(0), "src"), flag.Arg(1)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write writes the overlay for Go's sources into a directory, as overlay.json.
func write(goroot, dir string) error {
	texts := map[string][]byte{}
	for name, text := range added {
		texts[name] = []byte(text)
	}
	for _, p := range places {
		if texts[p.file] == nil {
			text, err := os.ReadFile(filepath.Join(goroot, p.file))
			if err != nil {
				return err
			}
			texts[p.file] = text
		}
		var err error
		if texts[p.file], err = shakeAt(texts[p.file], p.function); err != nil {
			return fmt.Errorf("%s: %w", p.file, err)
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	replace := map[string]string{}
	for name, text := range texts {
		in := filepath.Join(dir, name)
		replace[filepath.Join(goroot, name)] = in
		if err := os.MkdirAll(filepath.Dir(in), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(in, text, 0o644); err != nil {
			return err
		}
	}
	list, err := json.MarshalIndent(map[string]any{"Replace": replace}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "overlay.json"), list, 0o644)
}

// shakeAt returns a source file in which the functions and methods of a name first give way.
func shakeAt(text []byte, function string) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	found := false
	for _, d := range slices.Backward(file.Decls) {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == function && f.Body != nil {
			found = true
			text = slices.Insert(text, fset.Position(f.Body.Lbrace).Offset+1, []byte(" shake(); ")...)
		}
	}
	if !found {
		return nil, fmt.Errorf("this release of Go has no function %s: say in internal/shaken what does its work now", function)
	}
	return text, nil
}
