package infile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := Read(path, MostText); err != nil || string(text) != "12345" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := ReadFrom(strings.NewReader(strings.Repeat("x", MostText)), MostText); err != nil {
		t.Errorf("a file that is just short enough: %v", err)
	}
	if _, err := Read("/dev/zero", MostText); err == nil || err.Error() != "it is longer than 1 MiB" {
		t.Errorf("a file without an end: %v", err)
	}
	if _, err := Read(t.TempDir(), MostText); err == nil || err.Error() != "it is a directory; want a file" {
		t.Errorf("a directory: %v", err)
	}
	long := path + ".long"
	if err := os.WriteFile(long, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(long, MostData+1); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := Read(long, MostData)
	runtime.ReadMemStats(&after)
	if read := after.TotalAlloc - before.TotalAlloc; err == nil || err.Error() != "it is longer than 256 MiB" || read > MostText {
		t.Errorf("a file that says that it is too long: %v, %d bytes read", err, read)
	}
	if _, err := Read(path+"s", MostText); !errors.Is(err, fs.ErrNotExist) || strings.Contains(err.Error(), path) {
		t.Errorf("no such file: %v", err)
	}
	if _, err := Read(filepath.Dir(path), MostText); err == nil || strings.Contains(err.Error(), path) {
		t.Errorf("a directory: %v", err)
	}
}
