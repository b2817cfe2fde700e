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

// fakeServer is a server as far as a clean-up needs it: it has one job, of a run, until that is purged.
type fakeServer struct {
	*httptest.Server
	purged bool
	now    api.AgentSchedulerWorkerConfigRequest
}

// newFakeServer returns one that says that it serves clients at an address.
func newFakeServer(t *testing.T, rpc string) *fakeServer {
	f, mux := &fakeServer{}, http.NewServeMux()
	answer := func(pattern string, v func(*http.Request) any) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Nomad-Index", "7")
			w.Header().Set("X-Nomad-LastContact", "0")
			_ = json.NewEncoder(w).Encode(v(r))
		})
	}
	host, port, _ := strings.Cut(rpc, ":")
	answer("GET /v1/agent/self", func(*http.Request) any {
		return map[string]any{
			"member": map[string]any{"Addr": host, "Tags": map[string]string{"port": port, "build": "1.4.3"}},
			"stats":  map[string]any{"nomad": map[string]string{"server": "true"}, "raft": map[string]string{"last_log_index": "9"}},
		}
	})
	answer("GET /v1/jobs", func(*http.Request) any {
		if f.purged {
			return []any{}
		}
		return []any{map[string]any{"ID": "one", "Namespace": "default", "Meta": map[string]string{jobMark: "mine"}}}
	})
	answer("DELETE /v1/job/one", func(*http.Request) any { f.purged = true; return map[string]any{} })
	answer("GET /v1/nodes", func(*http.Request) any { return []any{} })
	answer("GET /v1/operator/scheduler/configuration", func(*http.Request) any {
		return map[string]any{"SchedulerConfig": map[string]any{}}
	})
	answer("GET /v1/agent/schedulers/config", func(*http.Request) any { return f.now })
	answer("PUT /v1/agent/schedulers/config", func(r *http.Request) any {
		_ = json.NewDecoder(r.Body).Decode(&f.now)
		return f.now
	})
	answer("GET /v1/evaluations", func(*http.Request) any { return []any{} })
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	return f
}

// TestCleanWithoutAServer: a server that is gone for good keeps its schedulers, and nothing else: the jobs of the run go,
// and the others' schedulers are as they were.
func TestCleanWithoutAServer(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Second) // how long it waits for the server
	defer stop()
	here, gone := newFakeServer(t, "10.0.0.1:4647"), newFakeServer(t, "10.0.0.2:4647")
	gone.Close()
	c := &Cluster{}
	m := &memo{Run: "mine", Workers: map[string]workers{}}
	for _, s := range []*fakeServer{gone, here} { // the silent one first
		client, err := api.NewClient(&api.Config{Address: s.URL})
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimPrefix(s.URL, "http://")
		c.servers = append(c.servers, &server{client: client, rpc: name})
		m.Workers[name] = workers{NumSchedulers: 2}
	}
	done, err := c.clean(ctx, m)
	if !here.purged || done.Jobs != 1 || here.now.NumSchedulers != 2 {
		t.Errorf("purged: %v, %d jobs; the server that answers has %d schedulers, want one job and 2", here.purged, done.Jobs, here.now.NumSchedulers)
	}
	if !errors.Is(err, rpc.ErrUnreachable) || !strings.Contains(err.Error(), "server "+c.servers[0].rpc) {
		t.Errorf("the error is %v, want one that names the server that is gone", err)
	}
}

// TestCleanupWithoutAServer: a server that is down from the beginning keeps the others from nothing, neither of a clean-up nor of
// that of the next start, which is refused then. Its schedulers are set when it answers again, and nothing else is done twice.
func TestCleanupWithoutAServer(t *testing.T) {
	for _, byStart := range []bool{false, true} {
		dir, here, gone := t.TempDir(), newFakeServer(t, "10.0.0.1:4647"), newFakeServer(t, "10.0.0.2:4647")
		whole := &Cluster{servers: []*server{{rpc: "10.0.0.1:4647"}, {rpc: "10.0.0.2:4647"}}}
		d, err := whole.takeDesk(dir)
		if err != nil {
			t.Fatal(err)
		}
		m := &memo{Run: "mine", Workers: map[string]workers{"10.0.0.1:4647": {NumSchedulers: 2}, "10.0.0.2:4647": {NumSchedulers: 3}}}
		text, err := m.text()
		if err = errors.Join(err, d.write(text)); err != nil {
			t.Fatal(err)
		}
		cfg := Config{API: []*api.Config{{Address: gone.URL}, {Address: here.URL}}} // the silent one first
		if _, err := Cleanup(t.Context(), cfg, dir); !errors.Is(err, ErrUnsuited) {
			t.Errorf("while a run goes on: %v", err)
		}
		d.leave()
		gone.Close()
		var done Cleaned
		if byStart {
			_, err = Look(t.Context(), cfg, dir, func(c Cleaned) { done = c })
		} else {
			done, err = Cleanup(t.Context(), cfg, dir)
		}
		if want := (Cleaned{Jobs: 1, Settings: true}); done != want || !here.purged || here.now.NumSchedulers != 2 {
			t.Errorf("by a start: %t: it has done %+v, want %+v; %d schedulers, want 2", byStart, done, want, here.now.NumSchedulers)
		}
		if !errors.Is(err, errPartly) || !errors.Is(err, rpc.ErrUnreachable) || !strings.Contains(err.Error(), "server 10.0.0.2:4647: num_schedulers are") {
			t.Errorf("by a start: %t: %v, want what is left", byStart, err)
		}
		if done, err := Cleanup(t.Context(), cfg, dir); done.Any() || err != nil {
			t.Errorf("again it does %+v, %v", done, err)
		}
		if _, err := Look(t.Context(), cfg, dir, nil); !errors.Is(err, rpc.ErrUnreachable) {
			t.Errorf("a start after that: %v", err)
		}
		back := newFakeServer(t, "10.0.0.2:4647")
		back.purged = true
		here.now.NumSchedulers = 7 // by somebody else, since
		cfg.API[0].Address = back.URL
		if done, err := Cleanup(t.Context(), cfg, dir); !done.Settings || done.Jobs > 0 || err != nil || back.now.NumSchedulers != 3 || here.now.NumSchedulers != 7 {
			t.Errorf("when it is back: %+v, %v, %d and %d schedulers", done, err, back.now.NumSchedulers, here.now.NumSchedulers)
		}
		if done, err := Cleanup(t.Context(), cfg, dir); done.Any() || err != nil {
			t.Errorf("after that: %+v, %v", done, err)
		}
	}
	if _, err := Cleanup(t.Context(), Config{API: []*api.Config{{Address: "http://127.0.0.1:1"}}}, t.TempDir()); !errors.Is(err, rpc.ErrUnreachable) {
		t.Errorf("without any server: %v", err)
	}
}
