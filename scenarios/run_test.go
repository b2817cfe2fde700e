package scenarios

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/internal/conditions"
	"github.com/simctl/simctl/scenarios/internal/judge"
	"github.com/simctl/simctl/scenarios/internal/run"
)

func runOne(t *testing.T, spec Spec, tell func(Progress)) *metrics.Result {
	t.Helper()
	res, err := RunOne(t.Context(), spec, tell)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// elsewhere is runOne in a process of its own, for tests that go on beside others: on virtual time, a process has one
// run at a time.
func elsewhere(t *testing.T, spec Spec) *metrics.Result {
	t.Helper()
	results, err := RunAll(t.Context(), []Spec{spec}, nil)
	must(t, err)
	return results[0]
}

// wantSound fails the test for every invariant that does not hold.
func wantSound(t *testing.T, res *metrics.Result, names ...string) {
	t.Helper()
	seen := map[string]bool{}
	for _, c := range res.Invariants {
		seen[c.Name] = true
		if !c.OK {
			t.Errorf("%s broker: invariant %q: %s", res.Run.Broker, c.Name, c.Detail)
		}
	}
	for _, name := range names {
		if !seen[name] {
			t.Errorf("invariant %q was not checked", name)
		}
	}
}

func TestHeartbeatStorm(t *testing.T) {
	const nodes, jobs = 40, 3
	for _, broker := range []string{"legacy", "shedding"} {
		t.Run(broker, func(t *testing.T) {
			res := runOne(t, small(broker), nil)
			wantSound(t, res, judge.InvariantConserved, judge.InvariantOneInFlight, judge.InvariantNonePending, judge.InvariantServersSame,
				judge.InvariantOracle, judge.InvariantLogsSame, judge.InvariantNothingLost)

			register := res.Phase("register")
			want := map[string]uint64{
				metrics.EntryJobRegister: jobs, metrics.EntryNodeRegister: nodes,
				metrics.EntryNodeUpdateStatus: nodes, metrics.EntryEvalUpdate: nodes,
			}
			wantEntries(t, register, want)
			if register.EvalsCreated != nodes*jobs+jobs || register.RecoveryS != -1 {
				t.Errorf("register created %d evaluations and recovered at %g s, want %d and never",
					register.EvalsCreated, register.RecoveryS, nodes*jobs+jobs)
			}

			drain := res.Phase("drain")
			if broker == "legacy" && (drain.EvalsProcessed != nodes*jobs+jobs || drain.EvalsCanceled != 0) {
				t.Errorf("the old broker processed %d and canceled %d, want all %d and none", drain.EvalsProcessed, drain.EvalsCanceled, nodes*jobs+jobs)
			}
			if broker == "shedding" && (drain.EvalsProcessed != 2*jobs || drain.EvalsCanceled != (nodes-1)*jobs) {
				t.Errorf("the new broker processed %d and canceled %d, want two of each job and the other %d", drain.EvalsProcessed, drain.EvalsCanceled, (nodes-1)*jobs)
			}
			if drain.PlansSubmitted != jobs {
				t.Errorf("%d plans in drain, want one for each of %d jobs", drain.PlansSubmitted, jobs)
			}

			storm := res.Phase("storm")
			if storm.NodesDown != nodes || storm.MissedHeartbeats != nodes || storm.EvalsCreated != nodes*jobs {
				t.Errorf("storm: %d nodes down, %d missed heartbeats, %d evaluations, want %d, %d and %d",
					storm.NodesDown, storm.MissedHeartbeats, storm.EvalsCreated, nodes, nodes, nodes*jobs)
			}
			// The earliest TTL is 10 s after the last heartbeat, grace 10 s more; the latest 20 and 10.
			if storm.RecoveryS < 5 || storm.RecoveryS > 40 {
				t.Errorf("storm recovered at %g s, want between the first and shortly after the last expiry", storm.RecoveryS)
			}
			for _, p := range res.Phases[1:] {
				if p.RecoveryS < 0 || p.QueueEmptyS < 0 || p.QueueEmptyS > p.RecoveryS || p.EndS-p.StartS < p.RecoveryS+conditions.Quiet.Seconds()-1e-6 {
					t.Errorf("%s: queue empty at %g s, recovered at %g s, %g s long: want them in order and 5 s of quiet at the end",
						p.Name, p.QueueEmptyS, p.RecoveryS, p.EndS-p.StartS)
				}
			}
			total := res.Totals
			if total.EvalsCreated != total.EvalsProcessed+total.EvalsCanceled {
				t.Errorf("%d evaluations created, %d processed and %d canceled", total.EvalsCreated, total.EvalsProcessed, total.EvalsCanceled)
			}
		})
	}
}

func wantEntries(t *testing.T, p *metrics.Phase, want map[string]uint64) {
	t.Helper()
	sum := uint64(0)
	for kind, n := range want {
		sum += n
		if got := p.RaftEntriesByType[kind]; got != n {
			t.Errorf("%s: %d entries of %s, want %d", p.Name, got, kind, n)
		}
	}
	if p.RaftEntries != sum {
		t.Errorf("%s: %d entries, want %d: %v", p.Name, p.RaftEntries, sum, p.RaftEntriesByType)
	}
}

func TestServiceJobsMoveToTheSurvivors(t *testing.T) {
	for _, broker := range []string{"legacy", "shedding"} {
		res := runOne(t, mixed(broker), nil)
		wantSound(t, res, judge.InvariantOracle)
		if down := res.Phase("storm").NodesDown; down != 10 {
			t.Errorf("%d nodes down, want a quarter of 40", down)
		}
		for _, c := range res.Invariants {
			// 3 system jobs on 30 nodes that are left, and 120 of the service jobs.
			if c.Name == judge.InvariantOracle && strings.HasPrefix(c.Detail, "after the run") && !strings.Contains(c.Detail, "210 allocations wanted, 210 run") {
				t.Errorf("%s, want all 120 allocations of the service jobs", c.Detail)
			}
		}
	}
}

func TestReportedAllocationsCostEntries(t *testing.T) {
	for _, reports := range []bool{false, true} {
		spec := small("shedding")
		spec.Set("report_allocations", reports)
		res := runOne(t, spec, nil)
		wantSound(t, res)
		if n := res.Phase("drain").RaftEntriesByType[metrics.EntryAllocClientUpdate]; n > 0 != reports {
			t.Errorf("report_allocations=%v: %d entries of client updates", reports, n)
		}
		if got := res.Run.Params["report_allocations"]; got != reports {
			t.Errorf("the result says report_allocations %v, want %v", got, reports)
		}
	}
}

// The same code without the bubble.
func TestWallClock(t *testing.T) {
	t.Parallel()
	for _, broker := range []string{"legacy", "shedding"} {
		res := runOne(t, quickWall(broker), nil)
		wantSound(t, res, judge.InvariantConserved, judge.InvariantOracle)
		if res.Run.Clock != ClockWall || res.Phase("storm").NodesDown != 50 {
			t.Errorf("on clock %s %d nodes went down, want wall and 50", res.Run.Clock, res.Phase("storm").NodesDown)
		}
	}
}

// TestALeaderDiesOnAFastWallClock: Raft keeps pace with the rest, and the checks at the end
// see a cluster that stands still with everybody up to date, however slow the machine.
func TestALeaderDiesOnAFastWallClock(t *testing.T) {
	t.Parallel()
	spec := Spec{Scenario: "failover-mid-drain", Broker: "legacy", Seed: 1, Clock: ClockWall, TimeScale: 0.05}
	spec.Set("nodes", 40)
	spec.Set("after_s", 1)
	shedding := spec
	shedding.Broker = "shedding"
	results, err := RunAll(t.Context(), []Spec{spec, shedding}, nil) // they wait most of the time
	must(t, err)
	for _, res := range results {
		wantSound(t, res, judge.InvariantConserved, judge.InvariantOracle, judge.InvariantServersSame, judge.InvariantNonePending, judge.InvariantLogsSame, judge.InvariantNothingLost)
		if !slices.ContainsFunc(res.Marks, func(m metrics.Mark) bool { return m.Name == "the leader is killed" }) {
			t.Errorf("%s broker: no leader was killed: marks %v", res.Run.Broker, res.Marks)
		}
	}
}

// TestRaftOnDisk: the servers write to files while the run goes on, which are gone afterwards.
func TestRaftOnDisk(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	spec := quickWall("shedding")
	spec.RaftStore = RaftStoreBoltDB
	most := 0
	res := runOne(t, spec, func(Progress) {
		logs, err := filepath.Glob(filepath.Join(temp, "simctl-raft-*", "server-*", "raft.db"))
		if err != nil {
			t.Error(err)
		}
		most = max(most, len(logs))
	})
	wantSound(t, res, judge.InvariantServersSame, judge.InvariantLogsSame, judge.InvariantNothingLost)
	if most != 3 || res.Run.Params["raft_store"] != RaftStoreBoltDB {
		t.Errorf("%d servers with a log on disk, parameters %v; want 3 and the store", most, res.Run.Params)
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, error %v", left, err)
	}
}

func TestProgressComesInOrder(t *testing.T) {
	var told []Progress
	runOne(t, small("legacy"), func(p Progress) { told = append(told, p) })
	phases := map[int]string{}
	for i, p := range told {
		phases[p.PhaseIndex] = p.Phase
		if p.Phases != 3 || p.Done < -1 || p.Done > 1 || i > 0 && p.VirtualS < told[i-1].VirtualS {
			t.Errorf("progress %d is %+v", i, p)
		}
		if end := i+1 == len(told) || told[i+1].PhaseIndex != p.PhaseIndex; end && p.Done != 1 {
			t.Errorf("phase %s ends at %g, want 1", p.Phase, p.Done)
		}
	}
	if len(phases) != 3 {
		t.Errorf("progress of phases %v, want all three", phases)
	}
}

func TestResultIsAFile(t *testing.T) {
	spec := small("shedding")
	spec.Cost = "loopback"
	res := runOne(t, spec, nil)
	path := filepath.Join(t.TempDir(), "shedding.json")
	if err := res.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	back, err := metrics.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if back.Digest() != res.Digest() {
		t.Error("the file's digest differs from the result's")
	}
	if res.Run.CostModel == nil || res.Run.CostModel.Class != "loopback" || len(res.Run.CostModel.Costs) == 0 {
		t.Errorf("the cost model is %+v, want that of loopback", res.Run.CostModel)
	}
	for _, name := range []string{metrics.LatencyWait, metrics.LatencyProcess, metrics.LatencyResponse} {
		if l := back.LatencyByName(name); l == nil || l.Count == 0 {
			t.Errorf("latency %s is %+v, want observations", name, l)
		}
	}
	for _, name := range []string{metrics.SeriesPending, metrics.SeriesRaftIndex, metrics.SeriesNodesDown, metrics.SeriesEntriesPrefix + metrics.EntryEvalUpdate} {
		if s := back.SeriesByName(name); s == nil || len(s.AtS) == 0 {
			t.Errorf("series %s is missing", name)
		}
	}
	if len(back.Marks) != 4 {
		t.Errorf("marks %+v, want jobs, clients, schedulers and the stop", back.Marks)
	}
	if back.Host.WallS <= 0 {
		t.Errorf("host %+v, want the wall time", back.Host)
	}
}

func TestAPhaseThatNeverEndsFailsTheRun(t *testing.T) {
	spec := small("legacy")
	sc, err := scenarioOf(spec)
	if err != nil {
		t.Fatal(err)
	}
	sc.Phases = sc.Phases[:2]
	sc.Phases[1].Events = nil // schedulers stay off: nothing ever drains
	sc.Phases[1].Stall = 10 * 60 * 1e9
	res, err := run.Run(t.Context(), sc, nil)
	if !strings.Contains(err.Error(), "phase drain") || !strings.Contains(err.Error(), "123 pending in state") {
		t.Errorf("error %v, want one that names the phase and what it lacks", err)
	}
	if res == nil || res.Phase("drain") == nil || res.Phase("drain").RecoveryS != -1 {
		t.Errorf("the result of a run that failed: %+v, want one with recovery_s -1", res)
	}
}

func TestCancel(t *testing.T) {
	for _, spec := range []Spec{small("legacy"), quickWall("legacy")} {
		ctx, cancel := context.WithCancel(t.Context())
		res, err := RunOne(ctx, spec, func(Progress) { cancel() })
		cancel()
		if !errors.Is(err, context.Canceled) || res != nil {
			t.Errorf("%s clock: a canceled run gave %v and %v", spec.Clock, res, err)
		}
	}
}

// TestLimitOnTheWallClock: there a run's own clock is the machine's.
func TestLimitOnTheWallClock(t *testing.T) {
	c, err := Compile(quickWall("legacy"))
	if err != nil {
		t.Fatal(err)
	}
	res, err := run.Run(t.Context(), &c.Within(Limits{Time: 1}).scenario, nil)
	if err != nil || res.Stopped != "--max-time 1ns" || len(res.Phases) != 1 {
		t.Errorf("a run of a nanosecond: %v, %+v; want it to stop in its first phase", err, res)
	}
}

func TestSpecAsJSON(t *testing.T) {
	spec := mixed("legacy")
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	back, err := readOrder(strings.NewReader(string(text)))
	if err != nil || back.CommandLine() != spec.CommandLine() {
		t.Errorf("read back %+v (%v), want %+v", back, err, spec)
	}
	if again, err := json.Marshal(back); err != nil || string(again) != string(text) {
		t.Errorf("written again: %s (%v), want %s", again, err, text)
	}
	if _, err := readOrder(strings.NewReader(`{"brokr":"legacy"}`)); err == nil {
		t.Error("a misspelt field was accepted")
	}
}
