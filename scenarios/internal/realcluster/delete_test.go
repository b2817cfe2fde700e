package realcluster

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/broker"
)

// TestDeletesThatLeaveSome: servers say how many evaluations they meant to delete by filter. Those that they
// leave were not deleted, and none of them is new.
func TestDeletesThatLeaveSome(t *testing.T) {
	pending := 1500
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("X-Nomad-Index", "7")
		w.Header().Set("X-Nomad-LastContact", "0")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/status/leader", func(w http.ResponseWriter, _ *http.Request) { answer(w, "10.0.0.1:4647") })
	mux.HandleFunc("GET /v1/agent/self", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"stats": map[string]any{"raft": map[string]string{"last_log_index": "9"}}})
	})
	mux.HandleFunc("GET /v1/nodes", func(w http.ResponseWriter, _ *http.Request) { answer(w, []string{}) })
	mux.HandleFunc("GET /v1/metrics", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "\n") })
	mux.HandleFunc("GET /v1/evaluations/count", func(w http.ResponseWriter, r *http.Request) {
		n := 0
		if strings.Contains(r.FormValue("filter"), broker.StatusPending) {
			n = pending
		}
		answer(w, map[string]int{"Count": n})
	})
	long := http.NewServeMux()
	long.Handle("/", mux)
	long.HandleFunc("DELETE /v1/evaluations", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]int{"Count": pending})
		pending = 190
	})
	reach := func(h http.Handler) *api.Client {
		s := httptest.NewServer(h)
		t.Cleanup(s.Close)
		client, err := api.NewClient(&api.Config{Address: s.URL})
		if err != nil {
			t.Fatal(err)
		}
		return client
	}
	// Only the client that is patient can delete.
	leader := &server{client: reach(mux), slow: reach(long), rpc: "10.0.0.1:4647"}
	leader.counts.begin()
	c := &Cluster{servers: []*server{leader}, nodes: map[string]string{}}
	if err := c.DeleteEvals(t.Context(), broker.StatusPending, "", 0, nil); err != nil {
		t.Fatal(err)
	}
	c.recount()
	st := c.Stats()
	if st.Counters.EvalsCreated != 1500 || st.StatePending != 190 || c.evals.dropped != 1310 {
		t.Errorf("%d created, %d pending and %d deleted, want 1500, 190 and 1310", st.Counters.EvalsCreated, st.StatePending, c.evals.dropped)
	}
}
