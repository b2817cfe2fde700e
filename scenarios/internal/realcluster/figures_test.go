package realcluster

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
)

// TestAsError: what passes is told from what stays.
func TestAsError(t *testing.T) {
	for text, want := range map[string]error{
		"Unexpected response code: 500 (No cluster leader)":                                                       rpc.ErrNoLeader,
		"Unexpected response code: 500 (Not ready to serve consistent reads)":                                     rpc.ErrNoLeader,
		"Unexpected response code: 500 (rpc error: failed to get conn: dial tcp 127.0.0.1:1: connection refused)": rpc.ErrNoLeader,
		"Unexpected response code: 404 (job not found)":                                                           rpc.ErrJobNotFound,
		"Get \"http://127.0.0.1:1/v1/agent/self\": connection refused":                                            rpc.ErrUnreachable,
		"failed querying self endpoint: Unexpected response code: 403 (Permission denied)":                        nil,
	} {
		got := asError(errors.New(text))
		for _, kind := range []error{rpc.ErrNoLeader, rpc.ErrJobNotFound, rpc.ErrNodeNotFound, rpc.ErrUnreachable} {
			if errors.Is(got, kind) != (kind == want) {
				t.Errorf("%s is taken for %v, want %v", text, got, want)
			}
		}
	}
}

const scraped = `# HELP nomad_nomad_fsm_update_eval nomad_nomad_fsm_update_eval
# TYPE nomad_nomad_fsm_update_eval summary
nomad_nomad_fsm_update_eval{quantile="0.5"} 0.04
nomad_nomad_fsm_update_eval_sum 1.5
nomad_nomad_fsm_update_eval_count %d
nomad_nomad_broker_total_blocked 7
nomad_nomad_broker_total_ready 1
nomad_nomad_broker__core_ready 2
nomad_nomad_plan_submit_count{host="a"} 3
nomad_nomad_plan_submit_count{host="b"} 4
no number at all NaNs
`

func TestParseMetrics(t *testing.T) {
	got := parseMetrics(fmt.Appendf(nil, scraped, 12))
	want := map[string]float64{
		"nomad_nomad_fsm_update_eval_sum": 1.5, "nomad_nomad_fsm_update_eval_count": 12, "nomad_nomad_broker_total_blocked": 7,
		"nomad_nomad_broker_total_ready": 1,
		"nomad_nomad_broker__core_ready": 2, "nomad_nomad_plan_submit_count": 7,
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	var st cluster.Stats
	(&Cluster{}).lookAtBroker(&st, got)
	if st.Broker.Pending != 7 || st.Broker.ByScheduler[rpc.JobTypeCore].Ready != 2 {
		t.Errorf("the broker is %+v", st.Broker)
	}
	if (&Cluster{}).lookAtBroker(&st, nil); st.Broker.ByScheduler != nil {
		t.Errorf("a leader that tells nothing has the broker %+v", st.Broker)
	}
}

// TestCounts: a counter that servers stop showing, and that begins anew, loses nothing.
func TestCounts(t *testing.T) {
	var c counts
	see := func(n float64) {
		next := map[string]float64{}
		if n > 0 {
			next["nomad_nomad_fsm_update_eval_count"] = n
		}
		c.take(next)
	}
	see(100)
	c.begin()
	for _, n := range []float64{100, 130, 0, 5, 9, 2} { // +0 +30, gone, +5 +4, anew +2
		see(n)
	}
	if got := c.entries(); got["EvalUpdateRequestType"] != 41 || len(got) != 1 {
		t.Errorf("got %v, want 41 entries", got)
	}
	if c.gone = true; c.entries() != nil {
		t.Error("a server that was killed still counts")
	}
}

func TestEntriesBetween(t *testing.T) {
	c := &Cluster{past: []counted{
		{10, map[string]uint64{"a": 1}}, {20, map[string]uint64{"a": 4, "b": 2}}, {20, map[string]uint64{"a": 5, "b": 2}}, {30, nil},
	}}
	if got, want := c.EntriesBetween(10, 20), map[string]uint64{"a": 4, "b": 2}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v: the latest of an index counts", got, want)
	}
	if got := c.EntriesBetween(10, 30); got != nil {
		t.Errorf("got %v of what nobody has counted", got)
	}
}

// TestAcks: servers collect garbage every five minutes. The evaluations that tell them to are
// acked, and are none of the run's. Those that are noticed late do not make counts go back. One that
// finds no room again is acked each time it has been tried, and is one.
func TestAcks(t *testing.T) {
	index, metrics := 10, ""
	mux := http.NewServeMux()
	answer := func(path string, v func() any) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Nomad-Index", "7")
			w.Header().Set("X-Nomad-LastContact", "0")
			_ = json.NewEncoder(w).Encode(v())
		})
	}
	answer("/v1/agent/self", func() any {
		return map[string]any{"stats": map[string]any{"raft": map[string]string{"last_log_index": strconv.Itoa(index)}}}
	})
	answer("/v1/nodes", func() any { return []string{} })
	answer("/v1/evaluations/count", func() any { return map[string]int{"Count": 0} })
	mux.HandleFunc("GET /v1/metrics", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, metrics) })
	s := httptest.NewServer(mux)
	defer s.Close()
	client, err := api.NewClient(&api.Config{Address: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	leader := &server{client: client}
	leader.counts.begin()
	c := &Cluster{servers: []*server{leader}, nodes: map[string]string{}}
	for i, step := range []struct {
		acks, core, reblocks int
		created, processed   uint64
	}{{}, {12, 0, 0, 12, 12}, {20, 6, 0, 14, 14}, {20, 9, 0, 14, 14}, {30, 9, 0, 21, 21}, {37, 9, 5, 23, 28}} {
		index++ // the log grows
		metrics = fmt.Sprintf("%s %d\n%s %d\n%s %d\n", metricAcks, step.acks, metricCore, step.core, metricReblocks, step.reblocks)
		st := c.last
		if err := c.look(&st, leader); err != nil {
			t.Fatal(err)
		}
		if c.last = st; st.Counters.EvalsCreated != step.created || st.Counters.EvalsProcessed != step.processed {
			t.Errorf("look %d: %d created and %d processed, want %d and %d", i+1, st.Counters.EvalsCreated, st.Counters.EvalsProcessed, step.created, step.processed)
		}
	}
}

// TestEvals: what is guessed while the log grows is right when the broker's figures are, and what
// is counted when it rests is right whatever they were.
func TestEvals(t *testing.T) {
	for _, counting := range []bool{true, false} {
		held := map[string]int{}
		asked := 0
		mux := http.NewServeMux()
		answer := func(w http.ResponseWriter, v any) {
			asked++
			w.Header().Set("X-Nomad-Index", "7")
			w.Header().Set("X-Nomad-LastContact", "0")
			_ = json.NewEncoder(w).Encode(v)
		}
		if counting {
			mux.HandleFunc("GET /v1/evaluations/count", func(w http.ResponseWriter, r *http.Request) {
				status := strings.Trim(strings.TrimPrefix(r.FormValue("filter"), "Status == "), `"`)
				answer(w, map[string]int{"Count": held[status]})
			})
		}
		mux.HandleFunc("GET /v1/evaluations", func(w http.ResponseWriter, _ *http.Request) {
			var all []map[string]string
			for status, n := range held {
				for range n {
					all = append(all, map[string]string{"Status": status})
				}
			}
			answer(w, all)
		})
		s := httptest.NewServer(mux)
		defer s.Close()
		client, err := api.NewClient(&api.Config{Address: s.URL})
		if err != nil {
			t.Fatal(err)
		}
		var e evals
		look := func(index uint64, depth, acked float64) {
			t.Helper()
			if err := e.look(client, index, depth, acked); err != nil {
				t.Fatal(err)
			}
		}
		look(1, 0, 0) // there is nothing
		held["pending"] = 90
		look(50, 90, 0)
		if e.created != 90 || e.byStatus[broker.StatusPending] != 90 {
			t.Errorf("counting %v: guessed %d created, %v", counting, e.created, e.byStatus)
		}
		held["pending"], held["complete"] = 40, 50
		look(100, 40, 48) // two acks were lost
		if e.created != 90 {
			t.Errorf("counting %v: guessed %d created, want 90", counting, e.created)
		}
		look(100, 40, 48)
		if e.created != 90 || e.byStatus[broker.StatusComplete] != 50 {
			t.Errorf("counting %v: counted %d created, %v", counting, e.created, e.byStatus)
		}
		if counting {
			look(100, 40, 48) // a second count agrees
		}
		before := asked
		if look(100, 40, 48); asked != before {
			t.Errorf("counting %v: a log that rests was counted %d times more", counting, asked-before)
		}
		wants := func(what string, created, complete uint64) {
			t.Helper()
			if got := e.ended(broker.StatusComplete); e.created != created || got != complete {
				t.Errorf("counting %v, %s: %d created and %d complete, want %d and %d", counting, what, e.created, got, created, complete)
			}
		}
		rest := func(index uint64, depth, acked float64) {
			look(index, depth, acked)
			look(index, depth, acked)
		}
		held["pending"] = 60
		rest(110, 0, 48)
		wants("the broker is paused", 110, 50)
		held["pending"], e.dropped = 10, 50
		rest(120, 0, 48)
		wants("pending ones are deleted", 110, 50)
		look(125, 0, 48) // the broker's figures are old
		wants("the broker is resumed", 110, 50)
		look(130, 10, 48)
		wants("its figures are new", 110, 50)
		look(135, 0, 48)
		if n := e.byStatus[broker.StatusPending]; n != 10 {
			t.Errorf("counting %v: a new leader that has told nothing yet: %d are pending, want 10", counting, n)
		}
		held["pending"], held["complete"] = 0, 60
		look(140, 0, 58)
		if counting {
			wants("they are processed", 110, 60)
		}
		e.again = true
		look(140, 0, 58)
		delete(held, "complete")
		rest(150, 0, 58)
		wants("garbage is collected", 110, 60)
		held["complete"] = 5
		look(160, 0, 63)
		wants("others are guessed", 115, 65)
		look(160, 0, 63)
		wants("others are counted", 115, 65)
		e.stale = true
		look(170, 5, 63) // another leader holds five again that were acked
		wants("another leader", 115, 65)
		held["complete"] = 7
		rest(180, 0, 70)
		wants("another leader's are counted", 117, 67)
		look(190, 8, 75) // what it holds was told before five of them were acked
		if e.created > 125 {
			t.Errorf("counting %v: %d created, want 125 at most", counting, e.created)
		}
	}
}

// counting returns a client of servers that count the evaluations that they hold, by status.
func counting(t *testing.T, held map[string]int) *api.Client {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Nomad-Index", "7")
		w.Header().Set("X-Nomad-LastContact", "0")
		status := strings.Trim(strings.TrimPrefix(r.FormValue("filter"), "Status == "), `"`)
		_ = json.NewEncoder(w).Encode(map[string]int{"Count": held[status]})
	}))
	t.Cleanup(s.Close)
	client, err := api.NewClient(&api.Config{Address: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// TestBlockedEvals: evaluations that wait for room are new once, however often the broker holds them again, and
// whether they end at the first try or the last.
func TestBlockedEvals(t *testing.T) {
	held := map[string]int{}
	client := counting(t, held)
	var e evals
	for i, step := range []struct {
		index             uint64
		depth, acked      float64
		blocked, complete int // there are
		want              uint64
	}{
		{index: 10},
		{index: 20, acked: 50, blocked: 50, complete: 50, want: 50},             // guessed: none is known to be blocked
		{index: 20, acked: 50, blocked: 50, complete: 50, want: 100},            // counted
		{index: 30, depth: 50, acked: 50, blocked: 50, complete: 50, want: 100}, // all are tried again,
		{index: 40, depth: 20, acked: 80, blocked: 20, complete: 80, want: 100}, // and find room
		{index: 50, acked: 120, blocked: 5, complete: 120, want: 125},           // new ones come
		{index: 50, acked: 120, blocked: 5, complete: 120, want: 125},
	} {
		held[broker.StatusBlocked], held[broker.StatusComplete] = step.blocked, step.complete
		if err := e.look(client, step.index, step.depth, step.acked); err != nil {
			t.Fatal(err)
		}
		if e.created != step.want {
			t.Errorf("look %d: %d created, want %d", i+1, e.created, step.want)
		}
	}
}

// TestEvalsOpenAtTheFirstLook: evaluations that are pending when a run begins, such as those of a job that somebody has just
// purged, are processed and canceled in it. So they count as created, too, and the three figures agree.
func TestEvalsOpenAtTheFirstLook(t *testing.T) {
	held := map[string]int{broker.StatusPending: 4, broker.StatusComplete: 3}
	client := counting(t, held)
	var e evals
	for i, step := range []struct {
		index                       uint64
		depth, acked                float64
		pending, complete, canceled int // there are
		want                        uint64
	}{
		{index: 10, depth: 4, pending: 4, complete: 3, want: 4},
		{index: 20, depth: 64, pending: 64, complete: 3, want: 64},                         // guessed
		{index: 30, acked: 20, complete: 23, canceled: 44, want: 64},                       // guessed
		{index: 30, acked: 20, complete: 23, canceled: 44, want: 64},                       // counted
		{index: 40, depth: 5, acked: 20, pending: 5, complete: 23, canceled: 44, want: 69}, // guessed
	} {
		maps.Copy(held, map[string]int{broker.StatusPending: step.pending, broker.StatusComplete: step.complete, broker.StatusCanceled: step.canceled})
		if err := e.look(client, step.index, step.depth, step.acked); err != nil {
			t.Fatal(err)
		}
		all := uint64(0)
		for _, n := range e.since() {
			all += n
		}
		if e.created != step.want || all != step.want {
			t.Errorf("look %d: %d created and %d by status, want %d", i+1, e.created, all, step.want)
		}
	}
}

// TestOldFiguresOfTheBroker: a busy leader goes on saying that it holds evaluations which it has acked since, at several looks.
func TestOldFiguresOfTheBroker(t *testing.T) {
	held := map[string]int{broker.StatusPending: 1000}
	client := counting(t, held)
	var e evals
	for i, step := range []struct{ depth, acked float64 }{
		{1000, 0}, {1000, 0}, {1000, 100}, {1000, 300}, {1000, 450}, {550, 500}, {550, 600}, {350, 700}, {0, 1000},
	} {
		if err := e.look(client, uint64(10*(i+1)), step.depth, step.acked); err != nil {
			t.Fatal(err)
		}
		if e.created > 1000 {
			t.Errorf("look %d: %d created, of 1,000", i+1, e.created)
		}
	}
	if e.created != 1000 {
		t.Errorf("at last %d created, want 1,000", e.created)
	}
}
