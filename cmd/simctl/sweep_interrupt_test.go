//go:build unix

package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestInterruptedSweep interrupts a sweep of a short and a long run, as Ctrl-C does, once
// the short one has finished. The short run must be kept, and no process may remain.
func TestInterruptedSweep(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := func(nodes string, more ...string) (*exec.Cmd, *bufio.Scanner) {
		t.Helper()
		args := append([]string{"sweep", "heartbeat-storm", "--vary", "nodes=" + nodes, "--broker", "legacy", "--parallel", "2", "--out", "out"}, more...)
		cmd := exec.Command("simctl", args...)
		cmd.Dir = dir
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		stderr, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		return cmd, bufio.NewScanner(stderr)
	}
	cmd, lines := start("20,5000")
	kept := func() bool {
		journal, err := os.Stat(filepath.Join(dir, "out", "journal.jsonl"))
		return err == nil && journal.Size() > 0
	}
	patience, look := time.After(time.Minute), time.Tick(20*time.Millisecond)
	for !kept() {
		select {
		case <-look:
		case <-patience:
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			t.Fatal("after a minute no run is kept")
		}
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	var said []string
	for lines.Scan() {
		said = append(said, lines.Text())
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != exitFailed {
		t.Errorf("ended with %v, want exit status %d", err, exitFailed)
	}
	want := "simctl: interrupted (interrupt signal received): 1 run is kept in out; the same command continues from there"
	if last := said[len(said)-1]; last != want {
		t.Errorf("the last line on stderr is %q, want %q; all of it:\n%s", last, want, strings.Join(said, "\n"))
	}
	if err := syscall.Kill(-cmd.Process.Pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("a child is still there (%v)", err)
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}

	cmd, lines = start("20,30")
	text := ""
	for lines.Scan() {
		text += lines.Text() + "\n"
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(text, "2 runs: 2 cells × 1 broker × 1 seed, 1 finished before") {
		t.Errorf("resumed with %v; it said:\n%s", err, text)
	}
	if _, err := os.Stat(filepath.Join(dir, "out", "summary.md")); err != nil {
		t.Error(err)
	}
}
