package server

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestALogThatDoesNotClose: a server that stops says so. Here the log's file is closed behind its back.
func TestALogThatDoesNotClose(t *testing.T) {
	const files = "/proc/self/fd"
	dir := t.TempDir()
	virtualtest.Test(t, func(t *testing.T) {
		s := lead(t, config.Config{Seed: 1, GC: noCollection, DataDir: dir})
		open, err := os.ReadDir(files)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range open {
			if path, _ := os.Readlink(filepath.Join(files, file.Name())); strings.HasPrefix(path, dir) {
				fd, err := strconv.Atoi(file.Name())
				if err := errors.Join(err, syscall.Close(fd)); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.Stop(); err == nil || !strings.Contains(err.Error(), "close the Raft log") {
			t.Errorf("it stops with %v", err)
		}
	})
}
