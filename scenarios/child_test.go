package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/simctl/simctl/internal/nightly"
	"github.com/simctl/simctl/metrics"
)

func TestRunAllRepeats(t *testing.T) {
	// Twice each, two at a time, beside what other tests do; if nobody waits three times, while this process keeps a
	// processor busy.
	repeats := 2
	if nightly.On {
		repeats = 3
		stop := atomic.Bool{}
		idle := make(chan struct{})
		go func() {
			defer close(idle)
			for !stop.Load() {
			}
		}()
		defer func() { stop.Store(true); <-idle }()
	}

	specs := []Spec{small("legacy"), small("shedding"), mixed("legacy"), mixed("shedding"), overloaded("legacy"), overloaded("shedding")}
	for i := range specs {
		specs[i].Seed = int64(i)
	}
	var all []Spec
	for range repeats {
		all = append(all, specs...)
	}
	results, err := RunAll(t.Context(), all, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, res := range results {
		first := results[i%len(specs)]
		if res.Run.Broker != all[i].Broker || res.Run.Seed != all[i].Seed {
			t.Fatalf("result %d is of the %s broker with seed %d, want %s and %d", i, res.Run.Broker, res.Run.Seed, all[i].Broker, all[i].Seed)
		}
		if res.Digest() != first.Digest() {
			diff := metrics.Compare(first, res)
			t.Errorf("run %d of %s with seed %d differs from the first: %+v", i/len(specs), all[i].Broker, all[i].Seed, diff)
		}
	}
	if results[0].Digest() == results[2].Digest() {
		t.Error("different runs have one digest")
	}
}

func TestRunAllTellsProgress(t *testing.T) {
	var told [2]atomic.Int64
	specs := []Spec{small("legacy"), small("shedding")}
	if _, err := RunAll(t.Context(), specs, func(i int, p Progress) { told[i].Add(1) }); err != nil {
		t.Fatal(err)
	}
	for i := range told {
		if told[i].Load() < 6 { // begin and end of three phases
			t.Errorf("run %d told its progress %d times, want at least 6", i, told[i].Load())
		}
	}
}

func TestAChildThatDies(t *testing.T) {
	t.Setenv(dieWith, "panic: out of luck")
	results, err := RunAll(t.Context(), []Spec{small("shedding")}, nil)
	if err == nil || results[0] != nil {
		t.Fatalf("a child that died gave %v and %v", results[0], err)
	}
	for _, part := range []string{"shedding", "exit status 7", "out of luck"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

func TestCancelStopsTheChildren(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	long := small("legacy")
	long.Set("nodes", 20_000)
	// RunAll returns when the children have been waited for.
	_, err := RunAll(ctx, []Spec{long, long}, func(int, Progress) { cancel() })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled run gave %v, want the cancellation", err)
	}
}

func TestRunAllRefusesABadSpecBeforeAnythingRuns(t *testing.T) {
	t.Setenv(dieWith, "a child was started")
	bad := small("legacy")
	bad.Set("nodes", -5)
	_, err := RunAll(t.Context(), []Spec{small("legacy"), bad}, nil)
	if _, is := errors.AsType[*InputError](err); !is {
		t.Errorf("error %v, want an InputError", err)
	}
}

func TestServe(t *testing.T) {
	text, err := json.Marshal(small("shedding"))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := Serve(t.Context(), strings.NewReader(string(text)), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, line := range lines {
		var m struct {
			Progress *Progress
			Result   *metrics.Result
			Error    string
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("line %d: %v", i, err)
		}
		if last := i == len(lines)-1; last != (m.Result != nil) || last != (m.Progress == nil) || m.Error != "" {
			t.Errorf("line %d of %d is %.200s, want progress and in the end a result", i, len(lines), line)
		}
	}
}

func TestServeTellsTheParentWhatIsWrong(t *testing.T) {
	for input, want := range map[string]string{
		`{"scenario":"heartbeat-storm","broker":"fastest"}`: "fastest",
		`not JSON`: "JSON from stdin",
	} {
		read, write := io.Pipe()
		go func() {
			_ = write.CloseWithError(Serve(t.Context(), strings.NewReader(input), write))
		}()
		var m struct {
			Progress *Progress
			Result   *metrics.Result
			Error    string
		}
		if err := json.NewDecoder(read).Decode(&m); err != nil || !strings.Contains(m.Error, want) {
			t.Errorf("input %s: message %+v (%v), want an error that says %q", input, m, err, want)
		}
		if _, err := io.Copy(io.Discard, read); err == nil {
			t.Errorf("input %s: Serve returned no error", input)
		}
	}
}
