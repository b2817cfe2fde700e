//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// TestServeEnds: each signal that asks it to ends serve well.
func TestServeEnds(t *testing.T) {
	t.Parallel()
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("simctl", "serve", "--servers", "1", "--nodes", "3", "--http-addr", "127.0.0.1:0", "--rpc-addr", "127.0.0.1:0")
			said, err := signalled(t, cmd, signal, func(line string) bool { return strings.HasPrefix(line, "export NOMAD_ADDR=http://127.0.0.1:") })
			if err != nil || len(said) != 3 {
				t.Errorf("ended with %v, having said:\n%s", err, strings.Join(said, "\n"))
			}
		})
	}
}

// TestServeKilled: what serve acknowledged before it was killed is there when it serves again.
func TestServeKilled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	serve := func(signal syscall.Signal, meanwhile func(url string)) {
		cmd := exec.Command("simctl", "serve", "--data-dir", dir, "--http-addr", "127.0.0.1:0", "--rpc-addr", "")
		said, err := signalled(t, cmd, signal, func(line string) bool {
			url, ready := strings.CutPrefix(line, "export NOMAD_ADDR=")
			if ready {
				meanwhile(url)
			}
			return ready
		})
		if err != nil && signal != syscall.SIGKILL || err == nil && signal == syscall.SIGKILL {
			t.Errorf("ended by %v with %v, having said:\n%s", signal, err, strings.Join(said, "\n"))
		}
	}
	var acked []string
	ended := make(chan struct{})
	serve(syscall.SIGKILL, func(url string) {
		some := make(chan struct{})
		go func() { // registers jobs until the server is gone
			defer close(ended)
			for i := 0; ; i++ {
				id := fmt.Sprintf("job-%d", i)
				body := fmt.Sprintf(`{"Job": {"ID": %q, "Type": "batch", "Datacenters": ["dc1"], "TaskGroups": [{"Name": "g", "Tasks": [{"Name": "t", "Driver": "mock_driver"}]}]}}`, id)
				resp, err := http.Post(url+"/v1/jobs", "application/json", strings.NewReader(body))
				if err != nil {
					return
				}
				_, err = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != http.StatusOK {
					return
				}
				if acked = append(acked, id); len(acked) == 10 {
					close(some)
				}
			}
		}()
		select {
		case <-some:
		case <-ended:
		}
	})
	<-ended
	if len(acked) < 10 {
		t.Fatalf("%d jobs were acknowledged, want at least 10", len(acked))
	}
	serve(syscall.SIGTERM, func(url string) {
		for _, id := range acked {
			resp, err := http.Get(url + "/v1/job/" + id)
			if err != nil {
				t.Error(err)
				return
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("%s of %d jobs: %s", id, len(acked), resp.Status)
			}
		}
	})
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
