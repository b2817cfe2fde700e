//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestRecordRuns: a cluster that serve simulates is recorded until a signal comes, and the
// recording runs.
func TestRecordRuns(t *testing.T) {
	t.Parallel()
	served := exec.Command("simctl", "serve", "--servers", "1", "--schedulers", "2", "--nodes", "4", "--http-addr", "127.0.0.1:0", "--rpc-addr", "")
	stderr, err := served.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := served.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := served.Process.Signal(syscall.SIGINT); err != nil {
			t.Error(err)
		}
		if err := served.Wait(); err != nil {
			t.Error(err)
		}
	}()
	address := ""
	for lines := bufio.NewScanner(stderr); address == "" && lines.Scan(); {
		address = strings.TrimPrefix(lines.Text(), "export NOMAD_ADDR=")
		if address == lines.Text() {
			address = ""
		}
	}
	file := filepath.Join(t.TempDir(), "mine.hcl")
	readyNodes(t, address, 4)
	if out, err := exec.Command("simctl", "record", "--address", address, "--out", file).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(text), "nodes      = 4") {
		t.Errorf("the recording is\n%s(%v), want one of 4 nodes", text, err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	endless := exec.Command("simctl", "record", "--address", address, "--for", "1h", "--out", file)
	said, err := endless.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := endless.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(said).ReadString('\n'); err != nil || line != "4 nodes, 0 jobs, 0 events; following events for 1h0m0s, Ctrl-C ends it\n" {
		t.Errorf("record says %q, %v", line, err)
	}
	if err := endless.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := endless.Wait(); err != nil {
		t.Fatalf("an interrupted recording: %v", err)
	}
	run := exec.Command("simctl", "scenario", "run", file, "--quiet", "--broker", "shedding", "--out", filepath.Join(filepath.Dir(file), "run"))
	if out, err := run.CombinedOutput(); err != nil || !strings.Contains(string(out), "4 nodes") {
		t.Errorf("the recording: %v\n%s", err, out)
	}
}

// readyNodes waits until so many nodes are ready, each time for the next change of any.
func readyNodes(t *testing.T, address string, want int) {
	t.Helper()
	for index, ready := "0", 0; ready < want; {
		resp, err := http.Get(address + "/v1/nodes?wait=1m&index=" + index)
		if err != nil {
			t.Fatal(err)
		}
		var nodes []struct{ Status string }
		err = json.NewDecoder(resp.Body).Decode(&nodes)
		resp.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		index, ready = resp.Header.Get("X-Nomad-Index"), 0
		for _, n := range nodes {
			if n.Status == "ready" {
				ready++
			}
		}
	}
}
