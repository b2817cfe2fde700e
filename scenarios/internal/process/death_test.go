package process

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/internal/garbage"
	"github.com/simctl/simctl/scenarios/internal/run"
)

// endAs makes this test binary a child that ends in one of the ways of ends.
const endAs = "SIMCTL_TEST_END_AS"

var ends = map[string]func(){
	"well":    func() { answer() },
	"in race": func() { answer(); fmt.Fprintln(os.Stderr, "WARNING: DATA RACE"); os.Exit(66) },
	"panicking": func() {
		answer()
		panic("too late")
	},
	"killed": func() {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		time.Sleep(time.Hour)
	},
	"out of memory": func() {
		fmt.Fprint(os.Stderr, "fatal error: runtime: out of memory\n\ngoroutine 1 [running]:\n", strings.Repeat("runtime.throw\n", 1000))
		os.Exit(2)
	},
	"lacking memory": func() { // as where memory is divided into spans
		fmt.Fprint(os.Stderr, "runtime: out of memory: cannot allocate 4194304-byte block (133562368 in use)\nfatal error: out of memory\n\ngoroutine 1 [running]:\n")
		os.Exit(2)
	},
	"silently": func() {},
}

func answer() { _ = WriteOutcome(os.Stdout, &metrics.Result{}, nil) }

func TestMain(m *testing.M) {
	if end := ends[os.Getenv(endAs)]; end != nil && len(os.Args) > 1 && os.Args[1] == Command {
		end()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestDeaths: whatever a child says, it has failed unless it ends well, and the error says how
// and, if memory was lacking, what to do.
func TestDeaths(t *testing.T) {
	for end, want := range map[string][]string{
		"well":           nil,
		"in race":        {"ended with an error after its result (exit status 66)", "DATA RACE"},
		"panicking":      {"ended with an error after its result (exit status 2)", "panic: too late"},
		"killed":         {"ran out of memory: it held ", "--max-memory"},
		"out of memory":  {"ran out of memory", "lower the number of nodes"},
		"lacking memory": {"ran out of memory", "lower the number of nodes"},
		"silently":       {"ended without a result", "it said: nothing"},
	} {
		t.Setenv(endAs, end)
		res, err := Run(t.Context(), Child{Scenario: "s", Broker: "b"}, garbage.Heap{Share: 1 << 20}, func(run.Progress) {})
		if want == nil {
			if err != nil || res == nil {
				t.Errorf("%s: %v, error %v", end, res, err)
			}
			continue
		}
		if err == nil || res != nil {
			t.Errorf("a child that ends %s: result %v, error %v", end, res, err)
			continue
		}
		for _, part := range append(want, "scenario s with the b broker: ") {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("a child that ends %s: the error does not say %q: %v", end, part, err)
			}
		}
		if strings.HasSuffix(end, "memory") && strings.Contains(err.Error(), "\n") {
			t.Errorf("the error about memory has several lines:\n%v", err)
		}
	}
}
