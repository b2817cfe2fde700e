//go:build programs

package main

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// facts are what was known of the dependencies when make vuln-facts ran last: a line for each
// range of versions in which something is wrong, and one for each module without any. What no
// version mends is wrong only with the packages that the line names. With them,
// a test finds a dependency that must be raised without the network. make vuln asks for what is
// known now, and whether simctl calls it.
//
//go:embed vulns.txt
var facts string

// TestDependencies: the list of licences is up to date, every licence is allowed, and no
// dependency is known to be vulnerable.
func TestDependencies(t *testing.T) {
	want, err := licenceTable()
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../docs/licences.md")
	if err != nil || string(got) != string(want) {
		t.Errorf("docs/licences.md is not up to date (%v): run make licences", err)
	}
	all, err := modules()
	if err != nil {
		t.Fatal(err)
	}
	shipped := map[string]bool{}
	for _, m := range all {
		shipped[m.Path] = m.shipped
	}
	for path, want := range map[string]bool{"github.com/hashicorp/raft": true, "golang.org/x/sys": true, "pgregory.net/rapid": false, "honnef.co/go/tools": false} {
		if got, ok := shipped[path]; !ok || got != want {
			t.Errorf("%s: listed %v, in the program %v, want %v", path, ok, got, want)
		}
	}
	if err := vulnerable(facts, all); err != nil {
		t.Error(err)
	}
	texts, err := notices()
	for _, want := range []string{"github.com/hashicorp/raft v", "Mozilla Public License", "Go, its standard library", "Copyright 2009 The Go Authors"} {
		if err != nil || !strings.Contains(string(texts), want) {
			t.Errorf("the notices lack %q (%v)", want, err)
		}
	}
	if strings.Contains(string(texts), "pgregory.net/rapid") {
		t.Error("the notices have a module that is not shipped")
	}
	release, err := os.ReadFile("../../.goreleaser.yaml")
	if want := "goos: [" + strings.Join(platforms, ", ") + "]"; err != nil || !strings.Contains(string(release), want) {
		t.Errorf(".goreleaser.yaml does not say %q (%v)", want, err)
	}
}

// TestVulnFacts reads reports in the form of the database.
func TestVulnFacts(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"GO-1.json": `{"id": "GO-2026-0001", "affected": [
			{"package": {"name": "golang.org/x/mod"}, "ranges": [{"events": [{"introduced": "0"}, {"fixed": "1.0.0"}, {"introduced": "1.1.0"}]}],
				"ecosystem_specific": {"imports": [{"path": "golang.org/x/mod/zip"}]}},
			{"package": {"name": "example.org/not-ours"}, "ranges": [{"events": [{"introduced": "0"}]}]}]}`,
		"GO-2.json": `{"id": "GO-2025-10001", "withdrawn": "2026-01-02T00:00:00Z", "affected": [
			{"package": {"name": "golang.org/x/mod"}, "ranges": [{"events": [{"introduced": "0"}]}]}]}`,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	text, err := vulnFacts(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"number 2026-00001:", "\ngolang.org/x/mod GO-2026-0001 0 1.0.0\ngolang.org/x/mod GO-2026-0001 1.1.0 never golang.org/x/mod/zip\n", "\ngithub.com/hashicorp/raft\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the facts lack %q:\n%s", want, text)
		}
	}
	for _, bad := range []string{"GO-2025", "not-ours"} {
		if strings.Contains(string(text), bad) {
			t.Errorf("the facts have %q:\n%s", bad, text)
		}
	}
	if _, err := vulnFacts(t.TempDir()); err == nil || !strings.Contains(err.Error(), "there are no reports") {
		t.Errorf("a directory without reports: got %v", err)
	}
}
