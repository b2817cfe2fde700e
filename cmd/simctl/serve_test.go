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
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var said []string
			for lines := bufio.NewScanner(stderr); lines.Scan(); {
				said = append(said, lines.Text())
				if strings.HasPrefix(lines.Text(), "export NOMAD_ADDR=http://127.0.0.1:") {
					if err := cmd.Process.Signal(signal); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := cmd.Wait(); err != nil || len(said) != 3 {
				t.Errorf("ended with %v, having said:\n%s", err, strings.Join(said, "\n"))
			}
		})
	}
}
