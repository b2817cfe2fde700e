package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestProfileCPU(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "profiles")
	t.Setenv(profileVar, dir)
	stop, err := ProfileCPU("heartbeat-storm-legacy")
	if err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "heartbeat-storm-legacy-*.pprof"))
	if err != nil || len(found) != 1 {
		t.Fatalf("profiles %v (%v), want one", found, err)
	}

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(profileVar, file)
	if _, err := ProfileCPU(""); err == nil || !strings.Contains(err.Error(), profileVar) {
		t.Errorf("a file in place of the folder: error %v, want one that names %s", err, profileVar)
	}
}
