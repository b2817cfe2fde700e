// Command bom says what simctl is made of: the licences of its dependencies, a software bill
// of materials for a binary, and what is known to be wrong with the dependencies. make
// licences, make sbom and make vuln run it, and so does a release.
//
// It must not import the rest of the program.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
)

// verbs take their arguments and return what to print.
var verbs = map[string]struct {
	args string
	run  func(args []string) ([]byte, error)
}{
	"licences": {"", func([]string) ([]byte, error) { return licenceTable() }},
	"notices":  {"", func([]string) ([]byte, error) { return notices() }},
	"sbom":     {" BINARY", func(args []string) ([]byte, error) { return sbom(args[0]) }},
	"vulns":    {" OSV-DIRECTORY", func(args []string) ([]byte, error) { return vulnFacts(args[0]) }},
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bom:", err)
		os.Exit(1)
	}
}

// run prints what a verb returns, or writes it to the file that follows the verb's arguments.
func run(args []string) error {
	usage := errors.New("usage: bom licences|notices|sbom BINARY|vulns OSV-DIRECTORY [FILE]")
	if len(args) == 0 {
		return usage
	}
	v, ok := verbs[args[0]]
	args = args[1:]
	want := len(bytes.Fields([]byte(v.args)))
	if !ok || len(args) < want || len(args) > want+1 {
		return usage
	}
	text, err := v.run(args)
	switch {
	case err != nil:
		return err
	case len(args) > want:
		return os.WriteFile(args[want], text, 0o644)
	}
	_, err = os.Stdout.Write(text)
	return err
}
