package outfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "runs.json")
	for _, text := range []string{"first", "second"} {
		if err := Write(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("it holds %q (%v), want %q", got, err, text)
		}
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("permissions %v (%v), want those of the file before", info.Mode(), err)
	}
	only(t, dir, "runs.json")
}

// TestFailures: an error names the file that was asked for, and leaves nothing.
func TestFailures(t *testing.T) {
	dir := t.TempDir()
	taken := filepath.Join(dir, "taken")
	if err := os.MkdirAll(filepath.Join(taken, "full"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]error{filepath.Join(dir, "none", "runs.json"): fs.ErrNotExist, taken: nil} {
		err := Write(path, []byte("text"), 0o644)
		if err == nil || want != nil && !errors.Is(err, want) || !strings.HasPrefix(err.Error(), "write "+path+": ") || strings.Contains(err.Error(), dir+"/.") {
			t.Errorf("%v, want an error that names %s alone", err, path)
		}
	}
	only(t, dir, "taken")
}

func only(t *testing.T, dir, name string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || entries[0].Name() != name {
		t.Errorf("the directory holds %v (%v), want %s alone", entries, err, name)
	}
}

// TestDevice: what is no regular file, as a device, is not replaced by one.
func TestDevice(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "device")
	if err := os.Symlink(os.DevNull, path); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("text"), 0o644); err == nil || !strings.Contains(err.Error(), "it is no regular file") {
		t.Errorf("got %v, want an error", err)
	}
	if to, err := os.Readlink(path); err != nil || to != os.DevNull {
		t.Errorf("there is %q (%v), want the device as before", to, err)
	}
	only(t, dir, "device")
}
