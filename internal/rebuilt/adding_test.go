//go:build programs

package rebuilt

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestAdding runs the command that shows each addition of docs/adding.md. Each must be one new
// file.
func TestAdding(t *testing.T) {
	t.Parallel()
	for _, section := range sections(t) {
		title, _, _ := strings.Cut(section, "\n")
		t.Run(title, func(t *testing.T) { show(t, section, program(t)) })
	}
}

// sections returns the parts of docs/adding.md, one for each addition.
func sections(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile("../../docs/adding.md")
	must(t, err)
	all := strings.Split(string(page), "\n## ")[1:]
	if len(all) != 4 {
		t.Fatalf("the page has %d sections, want 4", len(all))
	}
	return all
}

// addition is the one file that a diff makes.
type addition struct{ dir, name string }

// apply applies a diff to an empty directory.
func apply(t *testing.T, diff string) addition {
	t.Helper()
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "addition.diff"), []byte(diff), 0o644))
	run(t, dir, "git", "apply", "--whitespace=error", "addition.diff")
	must(t, os.Remove(filepath.Join(dir, "addition.diff")))
	added := files(t, dir)
	if len(added) != 1 {
		t.Fatalf("the diff leaves %q, want one file", added)
	}
	if out := run(t, dir, "gofmt", "-l", added[0]); out != "" {
		t.Errorf("gofmt would change %s", out)
	}
	return addition{dir, added[0]}
}

// show runs the command of a section.
func show(t *testing.T, section, simctl string) {
	dir := t.TempDir()
	must(t, os.Symlink(simctl, filepath.Join(dir, "simctl")))
	if strings.Contains(section, "```hcl") {
		must(t, os.WriteFile(filepath.Join(dir, "upgrade.hcl"), []byte(block(t, section, "hcl")), 0o644))
	}
	command := strings.TrimSpace(block(t, section, "sh"))
	t.Logf("$ %s\n%s", command, run(t, dir, "sh", "-c", `simctl() { ./simctl "$@"; }; `+command))
	for _, left := range regexp.MustCompile("leaves `([^`]+)`").FindAllStringSubmatch(section, -1) {
		if _, err := os.Stat(filepath.Join(dir, left[1])); err != nil {
			t.Errorf("the command left no %s", left[1])
		}
	}
}

// block returns the first code block of a language.
func block(t *testing.T, text, language string) string {
	t.Helper()
	_, after, ok := strings.Cut(text, "```"+language+"\n")
	code, _, closed := strings.Cut(after, "```\n")
	if !ok || !closed {
		t.Fatalf("the section has no block of %s", language)
	}
	return code
}

// files lists the files below a directory by their paths in it.
func files(t *testing.T, dir string) (paths []string) {
	t.Helper()
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			path, err = filepath.Rel(dir, path)
			paths = append(paths, path)
		}
		return err
	}))
	return paths
}

// run runs a command and returns what it prints.
func run(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", cmd, err, out)
	}
	return string(out)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
