//go:build unix

package main

import (
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/report.md")

// TestSample tries every mutant of a small package, and holds the table to a golden file. The
// table tells which rules found places, and which of the mutants its tests notice.
func TestSample(t *testing.T) {
	out := t.TempDir()
	before, err := os.ReadFile("testdata/sample/sample.go")
	if err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), options{pkg: "./testdata/sample", known: "testdata/equivalent.md", out: out, jobs: 2, without: "."}); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(out, "mutants-internal-mutants-testdata-sample.md"))
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/report.md", got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/report.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("testdata/report.md differs; look at it, then run this test with -update\n%s", got)
	}
	if after, err := os.ReadFile("testdata/sample/sample.go"); err != nil || string(after) != string(before) {
		t.Errorf("the tree was written (%v)", err)
	}
}
