package main

import (
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/simctl/simctl/internal/madeby"
	"github.com/simctl/simctl/internal/nightly"
	"github.com/simctl/simctl/metrics"
)

// TestWays runs the storm each way: everything that is checked holds, and dropping evaluations, and
// gathering changes, save what they are for.
func TestWays(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	totals := map[string]metrics.Phase{}
	for _, w := range ways {
		res, err := w.run(t.Context(), "heartbeat-storm", 30, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range res.Invariants {
			if !i.OK {
				t.Errorf("%s: %s: %s", w.name, i.Name, i.Detail)
			}
		}
		if len(res.Invariants) < 3 || len(res.Phases) != 3 {
			t.Errorf("%s: %d checks and %d phases, want 3 each", w.name, len(res.Invariants), len(res.Phases))
		}
		totals[w.name] = res.Totals
	}
	all, last, gather := totals["streams+keep-all"], totals["streams"], totals["streams+gather"]
	if all.EvalsProcessed != all.EvalsCreated || all.EvalsCreated != 10+2*30*10 || all.NodesDown != 30 {
		t.Errorf("keep-all: %d of %d evaluations processed, %d nodes down; want all of 610, and 30", all.EvalsProcessed, all.EvalsCreated, all.NodesDown)
	}
	if last.EvalsCanceled == 0 || last.EvalsProcessed+last.EvalsCanceled != last.EvalsCreated || last.RaftEntries >= all.RaftEntries {
		t.Errorf("last only: %d processed and %d dropped of %d, %d entries", last.EvalsProcessed, last.EvalsCanceled, last.EvalsCreated, last.RaftEntries)
	}
	if gather.EvalsCreated >= last.EvalsCreated || gather.RaftEntries >= last.RaftEntries {
		t.Errorf("gather: %d evaluations and %d entries, where taking one change at a time makes %d and %d", gather.EvalsCreated, gather.RaftEntries, last.EvalsCreated, last.RaftEntries)
	}
}

// TestRepeats: a run repeats to the last bit, although a NATS server with its own goroutines is in it.
func TestRepeats(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for i, w := range ways {
		if i > 0 && !nightly.On {
			break
		}
		digests := map[string]bool{}
		for range 2 {
			res, err := w.run(t.Context(), "heartbeat-storm", 20, 7)
			if err != nil {
				t.Fatal(err)
			}
			digests[res.Digest()] = true
		}
		if len(digests) != 1 {
			t.Errorf("%s: two runs have %d digests", w.name, len(digests))
		}
	}
}

// TestPage: the command writes Results, and a page of them, or says what is wrong.
func TestPage(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	stdout := os.Stdout
	defer func() { os.Stdout = stdout }()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	os.Stdout = w
	dir := t.TempDir()
	page := filepath.Join(dir, "page.md")
	begin, end := madeby.Lines("streams")
	if err := os.WriteFile(page, []byte("before\n"+begin+"old\n"+end+"after\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	results := filepath.Join(dir, "results")
	err = command([]string{"-nodes", "12", "-broker", "streams,streams+keep-all", "-out", results})
	w.Close()
	said, _ := io.ReadAll(r)
	if err != nil || strings.Count(string(said), "digest") != 2 {
		t.Fatalf("%v: %s", err, said)
	}
	if err := command([]string{"-page", page, results}); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	at := func(part string) int { return strings.Index(string(text), part) }
	order := []int{at("before\n"), at("12 nodes"), at("| `streams+keep-all` |"), at("| `streams` |"), at("after\n")}
	if slices.Contains(order, -1) || !slices.IsSorted(order) || at("old") >= 0 {
		t.Errorf("the page is\n%s", text)
	}
	for _, name := range []string{"streams.png", "streams-pending.png"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"-broker", "shedding"}, "must be one of streams+keep-all"},
		{[]string{"-page", page}, "needs directories"},
		{[]string{"-page", page, dir + "/nothing"}, "has no Results"},
	} {
		if err := command(c.args); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.args, err, c.want)
		}
	}
}
