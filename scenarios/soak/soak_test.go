package soak

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/simctl/simctl/internal/nightly"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/behaviours"
)

// drawn returns the schedules of the seeds below 300, which many tests look at.
var drawn = sync.OnceValue(func() (all []Schedule) {
	for seed := range int64(300) {
		all = append(all, NewSchedule(seed))
	}
	return all
})

func TestSchedulesAreScenarioFiles(t *testing.T) {
	for seed, s := range drawn() {
		if again := NewSchedule(int64(seed)); again.Text() != s.Text() {
			t.Fatalf("seed %d makes two schedules", seed)
		}
		if _, err := scenarios.Compile(s.Spec("legacy")); err != nil {
			t.Errorf("seed %d: %v\n%s", seed, err, s.Text())
		}
	}
}

// TestWords: the words are those that schedules have.
func TestWords(t *testing.T) {
	var want []string
	for _, s := range drawn() {
		for _, e := range s.events {
			want = append(want, e.Word)
		}
	}
	slices.Sort(want)
	if want = slices.Compact(want); !slices.Equal(Words(), want) {
		t.Errorf("words %q, schedules have %q", Words(), want)
	}
}

// TestSeedsStandForTheSameSchedules: people pass seeds on. A new draw changes what all of them
// stand for: then this hash changes, and the changelog says so.
func TestSeedsStandForTheSameSchedules(t *testing.T) {
	h := sha256.New()
	for _, s := range drawn() {
		fmt.Fprint(h, s.Text())
	}
	if got, want := fmt.Sprintf("%.8x", h.Sum(nil)), "d814f04abb962883"; got != want {
		t.Errorf("the schedules of 300 seeds have hash %s, want %s", got, want)
	}
}

// TestServersRestoreSnapshots: in most schedules a server is down for a while, and in all of them there are snapshots
// to start from.
func TestServersRestoreSnapshots(t *testing.T) {
	const schedules = 100
	down := 0
	for seed, s := range drawn()[:schedules] {
		if !strings.Contains(s.Text(), "snapshot_interval") {
			t.Errorf("seed %d takes no snapshots in time", seed)
		}
		for _, e := range s.Drawn() {
			if e.Word == "kill_server" || e.Word == "kill_leader" {
				down++
				break
			}
		}
	}
	if down < schedules*2/3 {
		t.Errorf("a server is down in %d of %d schedules", down, schedules)
	}
}

// TestSchedulesKnowEveryWord: every event there is, every behaviour but traces, every type
// of job and every setting that lets allocations outlive something comes up.
func TestSchedulesKnowEveryWord(t *testing.T) {
	var all strings.Builder
	for _, s := range drawn() {
		all.WriteString(s.Text())
	}
	var words []string
	for word := range actions.Keywords {
		words = append(words, fmt.Sprintf("event %q", word))
	}
	for kind := range behaviours.Kinds {
		if kind != "replay" {
			words = append(words, fmt.Sprintf("behaviour %q", kind))
		}
	}
	words = append(words, `"system"`, `"service"`, `"batch"`, `"sysbatch"`,
		"max_client_disconnect", "max_parallel", "every", "prohibit_overlap", "datacenter_filter = false", "garbage {", "nack_timeout")
	for _, word := range words {
		if !regexp.MustCompile(strings.ReplaceAll(word, " = ", " += ")).MatchString(all.String()) {
			t.Errorf("300 schedules have no %s", word)
		}
	}
}

func TestEventsAreLeftOutByNumber(t *testing.T) {
	s := NewSchedule(1)
	n := s.Events()
	fewer := s.Without(2, 3, 999)
	if fewer.Events() != n-2 || !slices.Equal(fewer.Left(), []int{2, 3}) || s.Events() != n {
		t.Errorf("%d events of %d, without %v; want two fewer, and the schedule itself as it was", fewer.Events(), n, fewer.Left())
	}
	if again := s.Without(3).Without(2); again.Text() != fewer.Text() {
		t.Error("the order in which events are left out shows")
	}
	if strings.Contains(fewer.Text(), "# 2\n") || !strings.Contains(fewer.Text(), "# 1\n") {
		t.Errorf("events keep their numbers:\n%s", fewer.Text())
	}
}

// TestShrinking: what is left is what the failure needs, and nothing else.
func TestShrinking(t *testing.T) {
	var big Schedule
	for seed := int64(1); big.Events() < 7; seed++ {
		big = NewSchedule(seed)
	}
	calls := 0
	needs := func(numbers ...int) func(Schedule) (Finding, error) {
		return func(s Schedule) (Finding, error) {
			calls++
			f := Finding{Schedule: s}
			for _, n := range numbers {
				if slices.Contains(s.Left(), n) {
					return f, nil
				}
			}
			f.Problems = []string{"it failed"}
			return f, nil
		}
	}
	for _, needed := range [][]int{{}, {1}, {7}, {2, 5}, {1, 2, 3, 4, 5, 6, 7}} {
		got, err := Shrink(Finding{Schedule: big, Problems: []string{"it failed"}}, needs(needed...))
		if err != nil || got.Schedule.Events() != len(needed) || len(got.Problems) == 0 {
			t.Errorf("of what needs events %v, %d are left (%v)", needed, got.Schedule.Events(), err)
		}
		for _, n := range needed {
			if slices.Contains(got.Schedule.Left(), n) {
				t.Errorf("event %d was left out of what needs %v", n, needed)
			}
		}
	}
	stop := errors.New("interrupted")
	got, err := Shrink(Finding{Schedule: big}, func(Schedule) (Finding, error) { return Finding{}, stop })
	if !errors.Is(err, stop) || got.Schedule.Events() != big.Events() {
		t.Errorf("an interrupted search gives %d events, %v", got.Schedule.Events(), err)
	}
}

// TestAccountsAreJudged: entries that nothing explains are a problem, those that are missing are
// not.
func TestAccountsAreJudged(t *testing.T) {
	got := unexplained(metrics.Phase{
		RaftEntriesByType:         map[string]uint64{"A": 5, "B": 1, "C": 2},
		RaftEntriesExpectedByType: map[string]uint64{"A": 3, "C": 2, "D": 1},
		RaftAccount:               []metrics.Expectation{{Type: "A", Event: "a", Entries: 3}},
	})
	want := []string{"the log has 5 of type A, 2 more than the events explain", "the log has 1 of type B, 1 more than the events explain"}
	if !slices.Equal(got, want) {
		t.Errorf("problems %q, want %q", got, want)
	}
}

// TestEach: what was found comes in the order of the seeds, whichever ends first.
func TestEach(t *testing.T) {
	for _, side := range []int{1, 3} {
		var at, most atomic.Int32
		check := func(_ context.Context, s Schedule) (Finding, error) {
			most.Store(max(most.Load(), at.Add(1)))
			defer at.Add(-1)
			runtime.Gosched()
			return Finding{Schedule: s}, nil
		}
		from := func(n int64) func() (Schedule, bool) {
			seed := int64(0)
			return func() (Schedule, bool) { seed++; return NewSchedule(seed), seed <= n }
		}
		var got []int64
		err := Each(t.Context(), side, from(20), check, func(f Finding) bool { got = append(got, f.Schedule.Seed); return true })
		if err != nil || len(got) != 20 || !slices.IsSorted(got) || int(most.Load()) > side {
			t.Errorf("%d at a time: seeds %v, %v, %d at once", side, got, err, most.Load())
		}
		got = nil
		if err := Each(t.Context(), side, from(20), check, func(f Finding) bool { got = append(got, f.Schedule.Seed); return f.Schedule.Seed < 3 }); err != nil || len(got) != 3 {
			t.Errorf("%d at a time, told to end at 3: seeds %v, %v", side, got, err)
		}
		stop := errors.New("stop")
		err = Each(t.Context(), side, from(20), func(_ context.Context, s Schedule) (Finding, error) {
			if s.Seed == 2 {
				return Finding{}, stop
			}
			return Finding{Schedule: s}, nil
		}, func(Finding) bool { return true })
		if !errors.Is(err, stop) {
			t.Errorf("%d at a time: error %v, want %v", side, err, stop)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(stop)
		if err := Each(ctx, side, from(20), check, func(Finding) bool { return true }); err != stop {
			t.Errorf("%d at a time, interrupted: error %v, want the cause %v", side, err, stop)
		}
	}
	if n := Side(2); 2*n < runtime.NumCPU() || n < 1 {
		t.Errorf("%d schedules of two runs at a time on %d processors", n, runtime.NumCPU())
	}
}

// TestFindingsAsFiles: what is saved of a failure is a scenario file that says what it is.
func TestFindingsAsFiles(t *testing.T) {
	f := Finding{Schedule: NewSchedule(7).Without(1), Problems: []string{"it failed"}}
	if !strings.HasPrefix(f.Text(), "# it failed\n\ntitle ") {
		t.Errorf("the file begins with\n%.80s", f.Text())
	}
	spec := f.Schedule.Spec("legacy")
	spec.Source = f.Text()
	if _, err := scenarios.Compile(spec); err != nil {
		t.Error(err)
	}
	if got, want := f.Command("out/seed-7.hcl", []string{"legacy", "shedding"}), "simctl scenario run out/seed-7.hcl --seed 7 --broker legacy,shedding --thorough"; got != want {
		t.Errorf("command %q, want %q", got, want)
	}
	f.Schedule = f.Schedule.Costing("my machine.hcl")
	if got, want := f.Command("a.hcl", []string{"legacy"}), "simctl scenario run a.hcl --seed 7 --broker legacy --thorough --cost 'my machine.hcl'"; got != want {
		t.Errorf("command %q, want %q", got, want)
	}
}

// TestSoak: some schedules, in processes of their own as the command runs them.
func TestSoak(t *testing.T) {
	seeds := int64(2)
	if nightly.On {
		seeds = 8
	}
	for seed := range seeds {
		found, err := Run(t.Context(), NewSchedule(seed), []string{"legacy", "shedding"}, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range found.Problems {
			t.Errorf("seed %d: %s", seed, p)
		}
		if seed == 0 {
			again, err := Run(t.Context(), NewSchedule(seed), []string{"legacy", "shedding"}, 1)
			if err != nil || again.Digest != found.Digest || found.Digest == "" {
				t.Errorf("the same schedule twice: digests of every event %s and %s, %v", found.Digest, again.Digest, err)
			}
		}
		if !slices.Contains(found.Reached, "evaluations complete at the end") {
			t.Errorf("seed %d reached %q", seed, found.Reached)
		}
		if found.VirtualS < 360 {
			t.Errorf("seed %d took %g s of the cluster's life, want the six minutes of a schedule", seed, found.VirtualS)
		}
	}
}

// TestUnderReleases: where a node that was disconnected waits for reports, clients report, and schedules
// end although some nodes never get any by themselves. Others stay as they are.
func TestUnderReleases(t *testing.T) {
	changed := 0
	for seed := range int64(50) {
		s := NewSchedule(seed)
		if got := s.Under([]string{"legacy", "shedding", "1.4.4"}); got.Text() != s.Text() {
			t.Errorf("seed %d is another schedule under releases that wait for nothing", seed)
		}
		got := s.Under([]string{"legacy", "1.4.5"}).Text()
		if waits := strings.Contains(s.Text(), "max_client_disconnect"); waits == (got == s.Text()) || waits && strings.Contains(got, "report_allocations = false") {
			t.Errorf("seed %d: under 1.4.5 the schedule is\n%s", seed, got)
		} else if waits {
			changed++
		}
	}
	if changed < 10 {
		t.Errorf("%d of 50 schedules change", changed)
	}
}

// TestKeptSchedules: schedules that once failed, as far as they had to be kept for that. What
// each of them found is in its first line. Some failed only when they were looked at thoroughly, which
// makes another run of them, and some only when they were not: make nightly tries both, under both brokers, and other
// runs of the tests one of the four. Those of one release are in a folder of its name.
func TestKeptSchedules(t *testing.T) {
	files, err := filepath.Glob("testdata/kept/*.hcl")
	ofReleases, rerr := filepath.Glob("testdata/kept/*/*.hcl")
	if err != nil || rerr != nil || len(files) == 0 || len(ofReleases) == 0 {
		t.Fatalf("no kept schedules (%v, %v)", err, rerr)
	}
	for _, file := range slices.Concat(files, ofReleases) {
		t.Run(file, func(t *testing.T) {
			t.Parallel() // one of a schedule's runs ends long before the other
			keptSchedule(t, file)
		})
	}
}

func keptSchedule(t *testing.T, file string) {
	brokers := []string{"legacy", "shedding"}
	if release := filepath.Base(filepath.Dir(file)); release != "kept" {
		brokers = []string{release}
	}
	var seed int64
	if _, err := fmt.Sscanf(filepath.Base(file), "seed-%d.hcl", &seed); err != nil {
		t.Fatalf("%s is not named after its seed: %v", file, err)
	}
	if !nightly.On {
		brokers = brokers[int(seed/2)%len(brokers):][:1]
	}
	for _, thorough := range []bool{false, true} {
		if thorough != (seed%2 == 0) && !nightly.On {
			continue
		}
		var specs []scenarios.Spec
		for _, broker := range brokers {
			spec, err := scenarios.FromFile(file)
			if err != nil {
				t.Fatal(err)
			}
			spec.Broker, spec.Seed, spec.Thorough = broker, seed, thorough
			specs = append(specs, spec)
		}
		found, err := examine(t.Context(), specs)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range found.Problems {
			t.Errorf("thorough %v: %s", thorough, p)
		}
	}
}
