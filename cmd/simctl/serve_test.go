//go:build unix

package main

import (
	"bufio"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestServeEnds: each signal that asks it to ends serve well.
func TestServeEnds(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			cmd := exec.Command("simctl", "serve", "--servers", "1", "--nodes", "3", "--http-addr", "127.0.0.1:0", "--rpc-addr", "127.0.0.1:0")
			said, err := signalled(t, cmd, signal, func(line string) bool { return strings.HasPrefix(line, "export NOMAD_ADDR=http://127.0.0.1:") })
			if err != nil || len(said) != 3 {
				t.Errorf("ended with %v, having said:\n%s", err, strings.Join(said, "\n"))
			}
		})
	}
}

// signalled runs a command, sends it a signal at the first line of stderr that when takes, and returns
// what it said and how it ended. A signal of 0 is none.
func signalled(t *testing.T, cmd *exec.Cmd, signal syscall.Signal, when func(line string) bool) (said []string, ended error) {
	t.Helper()
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	sent := signal == 0
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		said = append(said, lines.Text())
		if !sent && when(lines.Text()) {
			sent = true
			if err := cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
		}
	}
	return said, cmd.Wait()
}
