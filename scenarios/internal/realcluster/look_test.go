package realcluster

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/broker"
)

func (m *machine) KillServer(int) error { return nil }

// TestNobodyWaitsForALook: while the leader takes its time to tell its figures, what happens goes on. What it tells before it is
// killed was counted.
func TestNobodyWaitsForALook(t *testing.T) {
	const address = "10.0.0.1:4647"
	c := &Cluster{cfg: Config{Processes: &machine{}}, nodes: map[string]string{}}
	f := newFakeServer(t, address)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/status/leader":
			fmt.Fprintf(w, "%q", address)
		case "/v1/metrics":
			c.NodeIDs()
			c.EntriesBetween(0, 9)
			c.dropped(broker.StatusPending, 1)
			if err := c.StopServer(0); err != nil || c.Running(0) {
				t.Errorf("the server was killed, and runs %t: %v", c.Running(0), err)
			}
			fmt.Fprintln(w, "nomad_nomad_fsm_update_eval_count 1")
		default:
			f.Config.Handler.ServeHTTP(w, r)
		}
	}))
	defer s.Close()
	client, err := newClient(api.Config{Address: s.URL}, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	leader := &server{client: client, rpc: address}
	leader.counts.begin()
	c.servers = []*server{leader}
	if st := c.Stats(); c.lost != nil || st.LastIndex != 9 {
		t.Fatalf("a look in which much happens sees the index %d, want 9: %v", st.LastIndex, c.lost)
	}
	if got := c.past[0].entries["EvalUpdateRequestType"]; got != 1 {
		t.Errorf("%d entries were counted, want 1", got)
	}
}
