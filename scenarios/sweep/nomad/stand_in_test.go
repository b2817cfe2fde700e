package nomad

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/scenarios"
)

// act is what a stand-in lets become of a dispatched cell.
type act string

const (
	works      act = ""            // it ends well
	isLost     act = "lost"        // its node goes away
	isKilled   act = "killed"      // the task dies without a word
	errs       act = "errs"        // the run fails and says why
	vanishes   act = "vanishes"    // the job is purged by somebody else
	neverRuns  act = "never"       // the job is stopped before it is placed
	isCut      act = "cut"         // the log ends in the middle
	babbles    act = "babbles"     // something else writes to the log, too
	badLog     act = "bad log"     // the log cannot be read, ever
	flakyLog   act = "flaky log"   // the log can be read at the third try
	hangs      act = "hangs"       // it runs for ever
	waitsFirst act = "waits first" // there is no room at first
)

// standIn is a server that speaks as much of Nomad's HTTP API as the executor uses, as it is
// documented: it dispatches jobs, and plays what becomes of them.
type standIn struct {
	*httptest.Server
	// play decides by the number of nodes and the attempt.
	play func(nodes, attempt int) act

	mu       sync.Mutex
	jobs     map[string]*standInJob
	requests map[string]int
	words    string // that it then says
	// unblocked counts questions for news that do not say since when.
	unblocked int
	refuse    func(r *http.Request) int // a status to answer with; 0 = none
}

type standInJob struct {
	id, token string
	meta      map[string]string
	spec      scenarios.Spec
	act       act
	looks     int
	logReads  int
	purged    bool
}

const standInParent = "simctl-cell"

func newStandIn(t *testing.T, play func(nodes, attempt int) act) *standIn {
	t.Helper()
	s := &standIn{play: play, jobs: map[string]*standInJob{}, requests: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("PUT /v1/job/{id}/dispatch", s.dispatch)
	mux.HandleFunc("GET /v1/job/{id}", s.info)
	mux.HandleFunc("DELETE /v1/job/{id}", s.remove)
	mux.HandleFunc("GET /v1/job/{id}/allocations", s.allocations)
	mux.HandleFunc("GET /v1/job/{id}/evaluations", s.evaluations)
	mux.HandleFunc("GET /v1/client/fs/logs/{alloc}", s.logs)
	// A server that does not let others talk to its nodes: logs come through it.
	mux.HandleFunc("GET /v1/node/{id}", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no such node", http.StatusNotFound) })
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.requests[r.Method+" "+lastPart(r.URL.Path)]++
		refuse := s.refuse
		s.mu.Unlock()
		if refuse != nil {
			if status := refuse(r); status != 0 {
				http.Error(w, cmp.Or(s.words, http.StatusText(status)), status)
				return
			}
		}
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func lastPart(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func (s *standIn) client(t *testing.T) *api.Client {
	t.Helper()
	client, err := api.NewClient(&api.Config{Address: s.URL, HttpClient: s.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func reply(w http.ResponseWriter, index int, v any) {
	w.Header().Set("X-Nomad-Index", strconv.Itoa(index))
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func (s *standIn) info(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := r.PathValue("id")
	if id == standInParent || id == "plain" || id == "stopped" {
		job := map[string]any{"ID": id, "Status": "running", "Stop": id == "stopped"}
		if id != "plain" {
			job["ParameterizedJob"] = map[string]any{"Payload": "required"}
		}
		reply(w, 1, job)
		return
	}
	job := s.jobs[id]
	if job == nil || job.purged {
		http.Error(w, "job not found", http.StatusNotFound)
		return
	}
	status := "running"
	if job.act == neverRuns {
		status = "dead"
	}
	reply(w, 1, map[string]any{"ID": id, "Status": status})
}

func (s *standIn) dispatch(w http.ResponseWriter, r *http.Request) {
	var req api.JobDispatchRequest
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil || r.PathValue("id") != standInParent {
		http.Error(w, fmt.Sprint("bad request: ", err), http.StatusBadRequest)
		return
	}
	spec, err := unpackSpec(req.Payload)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	token := r.URL.Query().Get("idempotency_token")
	for _, job := range s.jobs {
		if job.token == token && token != "" && !job.purged {
			reply(w, 1, api.JobDispatchResponse{DispatchedJobID: job.id})
			return
		}
	}
	attempt, _ := strconv.Atoi(req.Meta[metaAttempt])
	// As Nomad names them: with a slash, which has to be escaped in paths.
	job := &standInJob{
		id: fmt.Sprintf("%s/dispatch-%d", standInParent, len(s.jobs)+1), token: token, meta: req.Meta, spec: spec,
		act: s.play(nodesOf(spec), attempt),
	}
	s.jobs[job.id] = job
	reply(w, 1, api.JobDispatchResponse{DispatchedJobID: job.id, EvalID: "e"})
}

func (s *standIn) remove(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	job := s.jobs[r.PathValue("id")]
	if job == nil || job.purged {
		http.Error(w, "job not found", http.StatusNotFound)
		return
	}
	job.purged = r.URL.Query().Get("purge") == "true"
	reply(w, 1, map[string]any{"EvalID": "e"})
}

// allocations answers a blocking query: one look later something has happened.
func (s *standIn) allocations(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	job := s.jobs[r.PathValue("id")]
	if job == nil || job.purged {
		reply(w, 1, []any{}) // as Nomad answers about a job that it does not know
		return
	}
	if r.URL.Query().Get("index") == "" {
		s.unblocked++
	}
	if job.act == hangs && job.looks > 1 {
		s.mu.Unlock()
		select { // until the one who asks goes away
		case <-r.Context().Done():
		case <-time.After(patience):
		}
		s.mu.Lock()
		return
	}
	job.looks++
	status := api.AllocClientStatusRunning
	switch {
	case job.act == vanishes && job.looks == 2:
		job.purged = true
		reply(w, job.looks, []any{})
		return
	case job.act == neverRuns, job.act == waitsFirst && job.looks < 3:
		reply(w, 10+job.looks, []any{})
		return
	case job.looks == 1:
		status = api.AllocClientStatusPending
	case job.looks > 2 && job.act == isLost:
		status = api.AllocClientStatusLost
	case job.looks > 2 && (job.act == isKilled || job.act == errs):
		status = api.AllocClientStatusFailed
	case job.looks > 2 && job.act != hangs:
		status = api.AllocClientStatusComplete
	}
	events := []map[string]any{
		{"Type": api.TaskTerminated, "DisplayMessage": "Exit Code: 137, Signal: 9"},
		{"Type": api.TaskNotRestarting, "DisplayMessage": "Policy allows no restarts"},
	}
	older := map[string]any{"ID": "older", "ClientStatus": "failed", "CreateIndex": 1}
	reply(w, 10+job.looks, []any{older, map[string]any{
		"ID": strings.ReplaceAll(job.id, "/", "_"), "JobID": job.id, "NodeID": "n", "NodeName": "client-7", "CreateIndex": 2,
		"ClientStatus": status, "TaskStates": map[string]any{taskName: map[string]any{"Events": events}},
	}})
}

// evaluations answers with what the scheduler found when it had no room.
func (s *standIn) evaluations(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	job := s.jobs[r.PathValue("id")]
	if job == nil || job.act != waitsFirst {
		reply(w, 1, []any{})
		return
	}
	failed := func(metric map[string]any) map[string]any { return map[string]any{taskName: metric} }
	reply(w, 1, []any{
		map[string]any{"ID": "e1", "CreateIndex": 3, "FailedTGAllocs": failed(map[string]any{"NodesAvailable": map[string]int{"dc1": 0}})},
		map[string]any{"ID": "e2", "CreateIndex": 5, "FailedTGAllocs": failed(map[string]any{
			"NodesEvaluated": 9, "NodesAvailable": map[string]int{"dc1": 9},
			"ConstraintFiltered": map[string]int{"${attr.cpu.arch} = amd64": 2}, "DimensionExhausted": map[string]int{"memory": 7, "cpu": 1},
		})},
		map[string]any{"ID": "e3", "CreateIndex": 7, "Status": "blocked"},
	})
}

// logs streams what the task wrote, in frames of a few bytes.
func (s *standIn) logs(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	job := s.jobs[strings.ReplaceAll(r.PathValue("alloc"), "_", "/")]
	q := r.URL.Query()
	if job == nil || q.Get("task") != taskName || q.Get("origin") != "start" || q.Get("follow") != "false" {
		http.Error(w, "no such log", http.StatusNotFound)
		return
	}
	job.logReads++
	if job.act == badLog || job.act == flakyLog && job.logReads < 3 {
		http.Error(w, "the node is cut off", http.StatusInternalServerError)
		return
	}
	var text bytes.Buffer
	switch {
	case q.Get("type") == "stderr":
		text.WriteString("something\nKilled\n")
	case job.act == isKilled:
	case job.act == errs:
		_ = scenarios.WriteOutcome(&text, nil, errors.New("phase storm: the phase did not end"))
	default:
		_ = scenarios.WriteOutcome(&text, result(job.spec), nil)
	}
	if job.act == babbles {
		text = *bytes.NewBufferString("welcome\n" + text.String())
	}
	if job.act == isCut {
		text.Truncate(text.Len() / 2)
	}
	enc := json.NewEncoder(w)
	for part := text.Bytes(); len(part) > 0; {
		n := min(700, len(part))
		_ = enc.Encode(api.StreamFrame{Data: part[:n], File: "cell.stdout.0"})
		part = part[n:]
	}
}
