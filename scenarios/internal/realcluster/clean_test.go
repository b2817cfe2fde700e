package realcluster

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/cluster/rpc"
)

// TestCleanWithoutAServer: a server that is gone for good keeps its schedulers, and nothing else: the jobs of the run go,
// and the others' schedulers are as they were.
func TestCleanWithoutAServer(t *testing.T) {
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Second) // how long it waits for the server
	defer stop()
	purged, now := false, api.AgentSchedulerWorkerConfigRequest{}
	mux := http.NewServeMux()
	answer := func(pattern string, v func(*http.Request) any) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Nomad-Index", "7")
			w.Header().Set("X-Nomad-LastContact", "0")
			_ = json.NewEncoder(w).Encode(v(r))
		})
	}
	answer("GET /v1/jobs", func(*http.Request) any {
		if purged {
			return []any{}
		}
		return []any{map[string]any{"ID": "one", "Namespace": "default", "Meta": map[string]string{jobMark: "mine"}}}
	})
	answer("DELETE /v1/job/one", func(*http.Request) any { purged = true; return map[string]any{} })
	answer("GET /v1/nodes", func(*http.Request) any { return []any{} })
	answer("GET /v1/operator/scheduler/configuration", func(*http.Request) any {
		return map[string]any{"SchedulerConfig": map[string]any{}}
	})
	answer("GET /v1/agent/schedulers/config", func(*http.Request) any { return now })
	answer("PUT /v1/agent/schedulers/config", func(r *http.Request) any {
		_ = json.NewDecoder(r.Body).Decode(&now)
		return now
	})
	answer("GET /v1/evaluations", func(*http.Request) any { return []any{} })
	here, gone := httptest.NewServer(mux), httptest.NewServer(mux)
	defer here.Close()
	gone.Close()
	c := &Cluster{}
	m := &memo{Run: "mine", Workers: map[string]workers{}}
	for _, s := range []*httptest.Server{gone, here} { // the silent one first
		client, err := api.NewClient(&api.Config{Address: s.URL})
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(s.URL, "http://")
		c.servers = append(c.servers, &server{client: client, rpc: name})
		m.Workers[name] = workers{NumSchedulers: 2}
	}
	done, err := c.clean(ctx, m)
	if !purged || done.Jobs != 1 || now.NumSchedulers != 2 {
		t.Errorf("purged: %v, %d jobs; the server that answers has %d schedulers, want one job and 2", purged, done.Jobs, now.NumSchedulers)
	}
	if !errors.Is(err, rpc.ErrUnreachable) || !strings.Contains(err.Error(), "server "+c.servers[0].rpc) {
		t.Errorf("the error is %v, want one that names the server that is gone", err)
	}
}
