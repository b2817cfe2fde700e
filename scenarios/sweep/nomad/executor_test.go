package nomad

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/sweep"
)

// patience bounds what may go wrong in a test that waits.
const patience = time.Minute

// quick waits for nothing long.
var quick = Config{Side: 4, Wait: 100 * time.Millisecond, Retry: time.Millisecond, Patience: 50 * time.Millisecond}

func executor(t *testing.T, s *standIn, cfg Config) *Executor {
	t.Helper()
	n, err := New(t.Context(), s.client(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func always(a act) func(int, int) act { return func(int, int) act { return a } }

func TestNomadRunsASweep(t *testing.T) {
	s := newStandIn(t, func(nodes, attempt int) act {
		switch {
		case nodes == 20 && attempt == 1:
			return isLost
		case nodes == 30:
			return isKilled
		case nodes == 40:
			return waitsFirst
		case nodes == 50:
			return flakyLog
		}
		return works
	})
	got, retried, err := perform(t, t.Context(), study(t, "nodes=10,20,30,40,50", "broker=legacy"), executor(t, s, quick), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	var attempts []int
	for i, r := range got.Runs {
		attempts = append(attempts, r.Attempts)
		if failed := i == 2; failed != (r.Result == nil) {
			t.Errorf("run %v ended with %v and %q", r.Point, r.Result, r.Error)
		}
	}
	if !slices.Equal(attempts, []int{1, 2, 2, 1, 1}) {
		t.Errorf("attempts %v, want one more for the lost and the killed cell", attempts)
	}
	if got := got.Runs[2].Error; !strings.Contains(got, "Exit Code: 137") || !strings.Contains(got, "it said: Killed") {
		t.Errorf("the killed cell's error is %q", got)
	}
	if got := got.Runs[0].Result.Phase("storm").RaftEntries; got != 10 {
		t.Errorf("the result of 10 nodes has %d entries", got)
	}
	if len(retried) != 2 || !slices.ContainsFunc(retried, func(s string) bool { return strings.Contains(s, "client-7") }) {
		t.Errorf("the retries are told as %q", retried)
	}
	if s.unblocked != len(s.jobs) {
		t.Errorf("%d questions would not block, want the first about each of %d jobs", s.unblocked, len(s.jobs))
	}
	for _, job := range s.jobs {
		if job.purged != (job.act == isLost || job.act == isKilled) {
			t.Errorf("job %s, which %q, is purged: %v", job.id, job.act, job.purged)
		}
		if !strings.HasPrefix(job.meta[metaCommand], "simctl scenario heartbeat-storm --nodes") || len(job.meta[metaKey]) != 64 {
			t.Errorf("the meta of %s is %v", job.id, job.meta)
		}
	}
}

func TestWhatBecomesOfACell(t *testing.T) {
	for a, want := range map[act]string{
		works: "", waitsFirst: "", flakyLog: "",
		isLost: "lost with node client-7", isKilled: "Exit Code: 137", errs: "the phase did not end",
		vanishes: "the job is gone", neverRuns: "the job is gone",
		isCut: `begins with "{\"result`, babbles: `begins with "welcome"`, badLog: "cut off",
	} {
		t.Run(string(a), func(t *testing.T) {
			n := executor(t, newStandIn(t, always(a)), quick)
			spec := base()
			spec.Broker = "legacy"
			spec.Set("nodes", 10)
			res, err := n.Run(t.Context(), spec, "key", 1, nil)
			if want == "" {
				if err != nil || res == nil || res.Run.Broker != "legacy" {
					t.Errorf("result %v and error %v", res, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), want) || errors.Is(err, sweep.ErrGiveUp) {
				t.Errorf("error %v, want one that says %q and lets the sweep go on", err, want)
			}
		})
	}
}

func TestNomadResultsOnAMountedPath(t *testing.T) {
	dir := t.TempDir()
	s := newStandIn(t, always(works))
	cfg := quick
	cfg.Results = dir
	n := executor(t, s, cfg)
	spec := base()
	spec.Broker = "shedding"
	spec.Set("nodes", 10)
	if err := result(spec).WriteFile(filepath.Join(dir, resultName("key", "1"))); err != nil {
		t.Fatal(err)
	}
	if res, err := n.Run(t.Context(), spec, "key", 1, nil); err != nil || res.Run.Broker != "shedding" {
		t.Errorf("result %v and error %v", res, err)
	}
	if s.requests["GET simctl-cell_dispatch-1"] != 0 {
		t.Errorf("the log was read though there is a file: %v", s.requests)
	}
	if _, err := n.Run(t.Context(), spec, "another", 1, nil); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that never comes gave %v", err)
	}
}

func TestNomadThatIsNotReady(t *testing.T) {
	s := newStandIn(t, always(works))
	for job, want := range map[string]string{"simctl-cells": "knows no job", "plain": "is not parameterized", "stopped": "is stopped"} {
		if _, err := New(t.Context(), s.client(t), Config{Job: job}); !errors.Is(err, ErrNoJob) || !strings.Contains(err.Error(), want) {
			t.Errorf("job %s: error %v, want one that says %q", job, err, want)
		}
	}
	gone := newStandIn(t, always(works))
	client := gone.client(t)
	gone.Close()
	if _, err := New(t.Context(), client, Config{}); err == nil || !strings.Contains(err.Error(), gone.URL) {
		t.Errorf("a cluster that does not answer gave %v", err)
	}
}

func TestErrorsOfTheAPI(t *testing.T) {
	spec := base()
	spec.Broker = "legacy"
	spec.Set("nodes", 10)
	t.Run("refused", func(t *testing.T) {
		s := newStandIn(t, always(works))
		n := executor(t, s, quick)
		s.refuse = func(r *http.Request) int {
			if r.Method == http.MethodPut {
				return http.StatusForbidden
			}
			return 0
		}
		if _, err := n.Run(t.Context(), spec, "key", 1, nil); !errors.Is(err, sweep.ErrGiveUp) || !strings.Contains(err.Error(), "403") {
			t.Errorf("a refused token gave %v, want to give up", err)
		}
		if got := s.requests["PUT dispatch"]; got != 1 {
			t.Errorf("a refused request was made %d times", got)
		}
	})
	t.Run("refused by a check", func(t *testing.T) {
		s := newStandIn(t, always(works))
		n := executor(t, s, Config{Wait: quick.Wait, Retry: quick.Retry, Patience: patience})
		s.words = "Dispatch request included unpermitted metadata keys: [command]"
		s.refuse = func(*http.Request) int { return http.StatusInternalServerError }
		if _, err := n.Run(t.Context(), spec, "key", 1, nil); !errors.Is(err, sweep.ErrGiveUp) || !strings.Contains(err.Error(), "unpermitted") {
			t.Errorf("a job without the metadata gave %v, want to give up", err)
		}
	})
	t.Run("no leader for a while", func(t *testing.T) {
		s := newStandIn(t, always(works))
		n := executor(t, s, Config{Wait: quick.Wait, Retry: quick.Retry, Patience: patience})
		var failures atomic.Int64
		s.refuse = func(*http.Request) int {
			if failures.Add(1)%3 != 0 { // two of three requests
				return http.StatusInternalServerError
			}
			return 0
		}
		if res, err := n.Run(t.Context(), spec, "key", 1, nil); err != nil || res == nil {
			t.Errorf("result %v and error %v", res, err)
		}
		if len(s.jobs) != 1 {
			t.Errorf("%d jobs were dispatched for one cell", len(s.jobs))
		}
	})
	t.Run("silent", func(t *testing.T) {
		s := newStandIn(t, always(works))
		n := executor(t, s, quick)
		s.refuse = func(*http.Request) int { return http.StatusBadGateway }
		if _, err := n.Run(t.Context(), spec, "key", 1, nil); !errors.Is(err, sweep.ErrGiveUp) {
			t.Errorf("a cluster that never answers gave %v, want to give up", err)
		}
	})
	t.Run("missing file", func(t *testing.T) {
		s := newStandIn(t, always(works))
		with := spec
		with.Cost = "./nowhere.hcl"
		if _, err := executor(t, s, quick).Run(t.Context(), with, "key", 1, nil); !errors.Is(err, sweep.ErrGiveUp) || len(s.jobs) != 0 {
			t.Errorf("a cost file that is nowhere gave %v and %d jobs", err, len(s.jobs))
		}
	})
}

func TestAnInterruptPurgesWhatRuns(t *testing.T) {
	s := newStandIn(t, always(hangs))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	why := errors.New("ctrl-c")
	inner, interrupt := context.WithCancelCause(ctx)
	s.refuse = func(r *http.Request) int {
		if r.URL.Query().Get("index") == "12" { // the cell has been seen running
			interrupt(why)
		}
		return 0
	}
	_, _, err := perform(t, inner, study(t, "nodes=10", "broker=legacy"), executor(t, s, Config{Wait: patience}), t.TempDir())
	if !errors.Is(err, why) {
		t.Errorf("the interrupted sweep gave %v", err)
	}
	if len(s.jobs) != 1 {
		t.Fatalf("%d jobs", len(s.jobs))
	}
	for _, job := range s.jobs {
		if !job.purged {
			t.Errorf("job %s still runs", job.id)
		}
	}
}

// TestACrashFindsItsJobsAgain dispatches the same attempt twice, as a sweep does that was
// killed and is started again.
func TestACrashFindsItsJobsAgain(t *testing.T) {
	s := newStandIn(t, always(works))
	n := executor(t, s, quick)
	spec := base()
	spec.Broker = "legacy"
	for range 2 {
		if _, err := n.Run(t.Context(), spec, "key", 1, nil); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := n.Run(t.Context(), spec, "key", 2, nil); err != nil {
		t.Fatal(err)
	}
	if len(s.jobs) != 2 {
		t.Errorf("%d jobs for two attempts", len(s.jobs))
	}
}

func TestServeCell(t *testing.T) {
	spec := base()
	spec.Broker = "shedding"
	spec.Set("nodes", 12)
	packed, err := packSpec(spec)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, result := filepath.Join(dir, "spec.json.gz"), filepath.Join(dir, "result.json")
	if err := os.WriteFile(file, packed, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(memoryVar, "300")
	var out strings.Builder
	if err := ServeCell(t.Context(), file, "", &out); err != nil {
		t.Fatal(err)
	}
	logged, err := scenarios.ReadOutcome(strings.NewReader(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := ServeCell(t.Context(), file, result, &out); err != nil || out.Len() > 0 {
		t.Fatalf("%v, and %q in the log", err, out.String())
	}
	written, err := metrics.Load(result)
	if err != nil || written.Digest() != logged.Digest() {
		t.Errorf("the file and the log differ (%v)", err)
	}
	for name, content := range map[string][]byte{"cut.gz": packed[:len(packed)-9], "text.gz": []byte("no gzip"), "gone.gz": nil} {
		path := filepath.Join(dir, name)
		if content != nil {
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		out.Reset()
		if err := ServeCell(t.Context(), path, "", &out); err == nil {
			t.Errorf("%s is served", name)
		}
		if _, err := scenarios.ReadOutcome(strings.NewReader(out.String())); err == nil || errors.Is(err, scenarios.ErrNoOutcome) {
			t.Errorf("%s: the log says %v", name, err)
		}
	}
}

func TestTooLargeToDispatch(t *testing.T) {
	spec := base()
	var noise strings.Builder
	for i := range 600 {
		fmt.Fprintf(&noise, "%x", sha256.Sum256([]byte{byte(i), byte(i >> 8)}))
	}
	spec.Source = noise.String()
	if _, err := packSpec(spec); !errors.Is(err, sweep.ErrGiveUp) || !strings.Contains(err.Error(), "16384") {
		t.Errorf("error %v, want the limit", err)
	}
}

func TestJobIsValidHCL(t *testing.T) {
	for name, job := range map[string]Job{
		"plain":    {},
		"artifact": {Artifact: "https://example.com/simctl.tar.gz?checksum=sha256:00", Volume: "results", Memory: 3 << 30},
		"docker":   {Driver: "docker", Image: `registry/"simctl":1`, Command: "/usr/bin/simctl", Datacenters: []string{"dc1", "dc2"}, ID: "mine"},
	} {
		var text strings.Builder
		if err := job.Print(&text); err != nil {
			t.Fatal(err)
		}
		file, diags := hclparse.NewParser().ParseHCL([]byte(text.String()), name+".hcl")
		if diags.HasErrors() {
			t.Fatalf("%s: %v in\n%s", name, diags, text.String())
		}
		content, diags := file.Body.Content(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "job", LabelNames: []string{"id"}}}})
		if diags.HasErrors() || len(content.Blocks) != 1 {
			t.Fatalf("%s: %v", name, diags)
		}
		has := func(parts ...string) {
			t.Helper()
			for _, part := range parts {
				if !strings.Contains(text.String(), part) {
					t.Errorf("%s lacks %q:\n%s", name, part, text.String())
				}
			}
		}
		has(`payload       = "required"`, `meta_required = ["key", "attempt"]`, `file = "spec.json.gz"`, `"run-one", "--spec", "${NOMAD_TASK_DIR}/spec.json.gz"`)
		switch name {
		case "plain":
			has(`job "simctl-cell"`, `driver = "exec"`, `command = "simctl"`, `datacenters = ["*"]`, "memory = 1024")
		case "artifact":
			has(`source      = "https://example.com`, `command = "local/simctl"`, "memory = 3072", `"--result", "/simctl-results/${NOMAD_META_key}-${NOMAD_META_attempt}.json"`,
				`destination = "/simctl-results"`)
		case "docker":
			has(`job "mine"`, `image   = "registry/\"simctl\":1"`, `datacenters = ["dc1", "dc2"]`)
		}
		if strings.Contains(text.String(), "\n\n\n") {
			t.Errorf("%s has two empty lines in a row:\n%s", name, text.String())
		}
	}
}
