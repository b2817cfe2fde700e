package deptest

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSizes: a file can be read in one go, and a package has one concern. Each command has a file of its own.
func TestSizes(t *testing.T) {
	const mostLines, mostFiles = 400, 15
	files := map[string]int{} // of packages, without tests
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() != "." && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		text, err := fs.ReadFile(root, path)
		if n := bytes.Count(text, []byte("\n")); n > mostLines {
			t.Errorf("%s has %d lines: divide it, %d are allowed", path, n, mostLines)
		}
		if !strings.HasSuffix(path, "_test.go") {
			files[filepath.Dir(path)]++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files["broker"] == 0 {
		t.Fatal("no file of the broker was found: the check would pass without checking")
	}
	for dir, n := range files {
		if n > mostFiles && !strings.HasPrefix(dir, "cmd/") {
			t.Errorf("%s has %d files: divide it, %d are allowed", dir, n, mostFiles)
		}
	}
}
