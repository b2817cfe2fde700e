//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// serving serves a cluster of four nodes until the test ends, and returns its address.
func serving(t *testing.T) (address string) {
	t.Helper()
	served := exec.Command("simctl", "serve", "--servers", "1", "--schedulers", "2", "--nodes", "4", "--http-addr", "127.0.0.1:0", "--rpc-addr", "")
	stderr, err := served.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := served.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := served.Process.Signal(syscall.SIGINT); err != nil {
			t.Error(err)
		}
		if err := served.Wait(); err != nil {
			t.Error(err)
		}
	})
	for lines := bufio.NewScanner(stderr); address == "" && lines.Scan(); {
		address = strings.TrimPrefix(lines.Text(), "export NOMAD_ADDR=")
		if address == lines.Text() {
			address = ""
		}
	}
	readyNodes(t, address, 4)
	return address
}

// TestRecordRuns: a cluster that serve simulates is recorded until a signal comes, and the
// recording runs.
func TestRecordRuns(t *testing.T) {
	t.Parallel()
	address, file := serving(t), filepath.Join(t.TempDir(), "recordings", "mine.hcl")
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

// TestRecordKeeps: a recording replaces no file, and leaves none unless all of its files can be written.
func TestRecordKeeps(t *testing.T) {
	t.Parallel()
	address, dir := serving(t), t.TempDir()
	for i, job := range []string{"web", strings.Repeat("z", 230)} { // the second name is too long for a file that is under way
		body := fmt.Sprintf(`{"Job": {"ID": %q, "Type": "batch", "Priority": %d, "Datacenters": ["dc1"], "TaskGroups": [{"Name": "a", "Tasks": [{"Name": "t", "Driver": "mock_driver"}]}, {"Name": "b", "Tasks": [{"Name": "t", "Driver": "mock_driver"}]}]}}`, job, 50+i)
		resp, err := http.Post(address+"/v1/jobs", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if resp.Body.Close(); resp.StatusCode != http.StatusOK {
			t.Fatalf("register %s: %s", job, resp.Status)
		}
	}
	record := func(code int, says string, left ...string) {
		t.Helper()
		cmd := exec.Command("simctl", "record", "--address", address, "--out", filepath.Join(dir, "mine.hcl"))
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != code || !strings.Contains(string(out), says) {
			t.Errorf("%v, want exit code %d and %q:\n%s", err, code, says, out)
		}
		if got := tree(t, dir); !slices.Equal(got, left) {
			t.Errorf("there is %q, want %q", got, left)
		}
	}
	beside := filepath.Join(dir, "mine.web.json")
	if err := os.WriteFile(beside, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	record(exitUsage, beside+" exists already", "mine.web.json")
	if text, err := os.ReadFile(beside); err != nil || string(text) != "precious" {
		t.Errorf("what was there is now %q (%v)", text, err)
	}
	if err := os.Remove(beside); err != nil {
		t.Fatal(err)
	}
	record(exitFailed, "file name too long")
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
