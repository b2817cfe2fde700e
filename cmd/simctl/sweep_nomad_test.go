package main

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestSweepOnNomad runs the command against a server that runs each dispatched cell as a
// client's task would, and answers with its output. Package sweep tests the failures
// between the two.
func TestSweepOnNomad(t *testing.T) {
	dir := t.TempDir()
	var mu sync.Mutex
	logs := map[string]string{} // of every dispatched job
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, text string) {
		w.Header().Set("X-Nomad-Index", "7")
		_, _ = io.WriteString(w, text)
	}
	mux.HandleFunc("GET /v1/job/simctl-cell", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, `{"ID":"simctl-cell","ParameterizedJob":{"Payload":"required"}}`)
	})
	mux.HandleFunc("PUT /v1/job/simctl-cell/dispatch", func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Payload string
			Meta    map[string]string
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
			t.Error(err)
		}
		payload, err := base64.StdEncoding.DecodeString(req.Payload)
		if err != nil {
			t.Error(err)
		}
		file := filepath.Join(t.TempDir(), "spec.json.gz")
		if err := os.WriteFile(file, payload, 0o600); err != nil {
			t.Error(err)
		}
		out, err := exec.CommandContext(r.Context(), "simctl", "run-one", "--spec", file).Output()
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		id := req.Meta["key"][:8]
		logs[id] = string(out)
		answer(w, `{"DispatchedJobID":"`+id+`"}`)
	})
	mux.HandleFunc("GET /v1/job/{id}/allocations", func(w http.ResponseWriter, r *http.Request) {
		answer(w, `[{"ID":"`+r.PathValue("id")+`","NodeID":"n","ClientStatus":"complete","CreateIndex":1}]`)
	})
	mux.HandleFunc("GET /v1/client/fs/logs/{id}", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		answer(w, `{"Data":"`+base64.StdEncoding.EncodeToString([]byte(logs[r.PathValue("id")]))+`"}`)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	sweep := func() (stdout, stderr string) {
		t.Helper()
		cmd := exec.Command("simctl", "sweep", "heartbeat-storm", "--vary", "nodes=10,15", "--executor", "nomad", "--parallel", "2", "--out", "out", "--format", "csv")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "NOMAD_ADDR="+server.URL)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %s", err, errs.String())
		}
		return out.String(), errs.String()
	}
	stdout, _ := sweep()
	if len(logs) != 4 || strings.Count(stdout, ",ok,1,") != 4 {
		t.Errorf("%d jobs were dispatched, and the table is\n%s", len(logs), stdout)
	}
	if _, stderr := sweep(); len(logs) != 4 || !strings.Contains(stderr, "4 finished before") {
		t.Errorf("again, %d jobs: %s", len(logs), stderr)
	}
}
