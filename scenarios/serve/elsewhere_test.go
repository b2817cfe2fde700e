package serve

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios"
)

const elsewhere = `title = "a cluster that is there"
cluster {
  servers    = %d
  schedulers = %d
  %s
}
fleet {
  register_stagger = "100ms"
  first_heartbeat  = "1ms"
  group "main" {
    nodes = 5
  }
}
job "sys" {
  type   = "system"
  copies = 2
}
phase "register" {
  event "register_jobs" {}
  event "start_clients" {}
  %s
  until "registered" {
    for = "200ms"
  }
}
phase "drain" {
  event "schedulers" {
    per_server = 2
  }
  until "recovered" {
    for = "500ms"
  }
}
`

// compiled returns the scenario with other settings and events.
func compiled(t *testing.T, servers, schedulers int, setting, event string) *scenarios.Compiled {
	t.Helper()
	c, err := scenarios.Compile(scenarios.Spec{Scenario: "mine", File: "mine.hcl", Source: fmt.Sprintf(elsewhere, servers, schedulers, setting, event), Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// reached serves a cluster of one server and reaches it as one of another process.
func reached(t *testing.T) (at scenarios.Elsewhere, dir string, real scenarios.Real) {
	t.Helper()
	o := options()
	o.Servers, o.Schedulers = 1, 3
	where := start(t, o)
	at = scenarios.Elsewhere{Addresses: []string{"http://" + where.HTTP.String()}, Servers: []string{where.RPC[0].String()}}
	dir = t.TempDir()
	real, err := scenarios.Reach(t.Context(), at, dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return at, dir, real
}

// TestRunElsewhere: a scenario runs in a cluster of another process over its HTTP API and its RPC, and a run that the
// cluster cannot be told is refused before.
func TestRunElsewhere(t *testing.T) {
	t.Parallel()
	at, dir, real := reached(t)
	for what, c := range map[string]struct {
		run  *scenarios.Compiled
		want string
	}{
		"servers":    {compiled(t, 3, 0, "", ""), "the scenario has 3 servers and the cluster 1"},
		"heartbeats": {compiled(t, 1, 0, "heartbeat {\n grace = \"7s\"\n}", ""), "the scenario has heartbeat_grace = 7 and the cluster 10"},
		"a kill":     {compiled(t, 1, 0, "", "event \"kill_leader\" {\n for = \"1s\"\n}"), `Event "kill_leader" of phase register: the servers of Nomad`},
	} {
		if err := c.run.CheckReal(real); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", what, err, c.want)
		}
	}
	run := compiled(t, 1, 0, "", "")
	if err := run.CheckReal(real); err != nil {
		t.Fatal(err)
	}
	res, err := scenarios.RunReal(t.Context(), run, real, nil)
	if err != nil {
		t.Fatal(err)
	}
	register, drain := res.Phase("register"), res.Phase("drain")
	if n := register.RaftEntriesByType[metrics.EntryNodeRegister]; n != 5 || register.EvalsCreated != 12 || register.EvalsByStatus["pending"] != 12 {
		t.Errorf("5 nodes and 2 jobs registered: %+v", register)
	}
	if done := drain.EvalsByStatus["complete"] + drain.EvalsByStatus["canceled"]; done != 12 || drain.RaftEntriesByType[metrics.EntryApplyPlanResults] != 2 {
		t.Errorf("12 evaluations drained: %+v", drain)
	}
	if want := "simctl scenario run mine.hcl --target nomad --address " + at.Addresses[0] + " --server " + at.Servers[0] + " --seed 1"; res.Run.Rerun != want {
		t.Errorf("it is repeated by %q, want %q", res.Run.Rerun, want)
	}
	if text, err := scenarios.CleanUp(t.Context(), at, dir); err != nil || text != "there is nothing to clean up" {
		t.Errorf("afterwards: %q, %v", text, err)
	}
	at.IntroToken = "secret"
	if _, err := scenarios.Reach(t.Context(), at, dir, nil); !errors.Is(err, scenarios.ErrReal) || !strings.Contains(err.Error(), "know no introduction tokens") {
		t.Errorf("a token for clients of 1.4.3: %v", err)
	}
	at.IntroToken = ""
	at.Addresses = append(at.Addresses, at.Addresses[0])
	if _, err := scenarios.Reach(t.Context(), at, dir, nil); !errors.Is(err, scenarios.ErrReal) {
		t.Errorf("a server is named twice: %v", err)
	}
}

// TestResultBesideWhatIsLeft: a run that cannot leave the cluster as it was has a Result all the same.
func TestResultBesideWhatIsLeft(t *testing.T) {
	t.Parallel()
	_, dir, real := reached(t)
	spoil := func(scenarios.Progress) {
		memos, err := filepath.Glob(filepath.Join(dir, "elsewhere-*.json"))
		if err != nil || len(memos) != 1 {
			t.Errorf("there are the memos %q, %v, want one", memos, err)
			return
		}
		if err := os.WriteFile(memos[0], []byte("spoilt"), 0o600); err != nil {
			t.Error(err)
		}
	}
	res, err := scenarios.RunReal(t.Context(), compiled(t, 1, 0, "", ""), real, spoil)
	if _, left := errors.AsType[scenarios.LeftError](err); !left || res == nil || len(res.Phases) != 2 || res.Stopped != "" {
		t.Errorf("got %+v and %v, want a result of two phases and what is left", res, err)
	}
}

// TestDeleteElsewhere: evaluations are deleted by ID and by filter while the broker is paused, and are counted all the same. What a filter
// cannot say, and what would be of others, is refused.
func TestDeleteElsewhere(t *testing.T) {
	t.Parallel()
	o := options()
	o.Servers, o.Schedulers = 1, 3
	where := start(t, o)
	at := scenarios.Elsewhere{Addresses: []string{"http://" + where.HTTP.String()}, Servers: []string{where.RPC[0].String()}}
	real, err := scenarios.Reach(t.Context(), at, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	const deletion = `until "registered" {}
}
phase "delete" {
  event "pause_eval_broker" {}
  event "delete_evals" {
    by           = "id"
    triggered_by = "node-update"
    count        = 4
  }
  event "delete_evals" {
    triggered_by = "node-update"
    %s
  }
  event "resume_eval_broker" {
    at = "500ms"
  }
  event "collect_garbage" {
    at = "500ms"
  }
`
	if err := compiled(t, 1, 0, "", fmt.Sprintf(deletion, "count = 3")).CheckReal(real); err == nil || !strings.Contains(err.Error(), "deletes all that match a filter") {
		t.Errorf("a filter with a count: %v", err)
	}
	run := compiled(t, 1, 0, "", fmt.Sprintf(deletion, ""))
	at.AllowForeign = true
	foreign, err := scenarios.Reach(t.Context(), at, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := run.CheckReal(foreign); err == nil || !strings.Contains(err.Error(), "it would delete what is of others") {
		t.Errorf("evaluations of others: %v", err)
	}
	if err := run.CheckReal(real); err != nil {
		t.Fatal(err)
	}
	res, err := scenarios.RunReal(t.Context(), run, real, nil)
	if err != nil {
		t.Fatal(err)
	}
	deleted, drain := res.Phase("delete"), res.Phase("drain")
	if n := deleted.RaftEntriesByType[metrics.EntryEvalDelete]; n != 5 || deleted.EvalsByStatus["pending"] != 2 || deleted.EvalsProcessed != 0 {
		t.Errorf("4 of 10 evaluations were deleted by ID and the others by filter: %+v", deleted)
	}
	if res.Totals.EvalsCreated != 12 || drain.EvalsProcessed != 2 {
		t.Errorf("of 12 evaluations 2 were left: %d created, %d processed", res.Totals.EvalsCreated, drain.EvalsProcessed)
	}
}
