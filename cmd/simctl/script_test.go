package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"github.com/simctl/simctl/internal/walltest"
)

func TestMain(m *testing.M) {
	testscript.Main(leakChecked{m}, map[string]func(){"simctl": main})
}

// leakChecked are the tests, which fail if a goroutine outlives them.
type leakChecked struct{ *testing.M }

func (m leakChecked) Run() int {
	walltest.SideBySide()
	code := m.M.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	return code
}

func TestScripts(t *testing.T) {
	t.Parallel()
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits,
			"holds": holds,
		},
	})
}

// exits runs a command that must exit with the given code: exits CODE COMMAND [ARG...].
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code command [arg...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		coded, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = coded.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}

// holds checks that a directory holds exactly one file for each pattern, in the order of the
// names, hidden files included: holds DIR [PATTERN...].
func holds(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: holds dir [pattern...]")
	}
	entries, err := os.ReadDir(ts.MkAbs(args[0]))
	ts.Check(err)
	var names []string
	for _, e := range entries {
		// testscript gives every script a directory for temporary files.
		if e.Name() != ".tmp" {
			names = append(names, e.Name())
		}
	}
	if !slices.EqualFunc(names, args[1:], func(name, pattern string) bool {
		ok, err := filepath.Match(pattern, name)
		ts.Check(err)
		return ok
	}) {
		ts.Fatalf("%s holds %q, want %q", args[0], names, args[1:])
	}
}
