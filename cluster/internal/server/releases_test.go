package server

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/raftnode"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestEvaluationsOfNodesByRelease: which jobs a node with allocations of each type is evaluated
// for, and whether an entry is written.
func TestEvaluationsOfNodesByRelease(t *testing.T) {
	oldest, sysbatch, first, newest := config.Version{1, 4, 3}, config.Version{1, 9, 0}, config.Version{1, 11, 2}, config.Version{1, 11, 3}
	for _, c := range []struct {
		jobType       string
		stopped       bool // job and allocation
		status        string
		release       config.Version
		evals, writes bool
	}{
		{"service", false, rpc.AllocClientRunning, newest, true, true},
		{"service", false, rpc.AllocClientFailed, newest, true, true},
		{"service", true, rpc.AllocClientRunning, newest, true, true},
		{"service", true, rpc.AllocClientComplete, sysbatch, true, true},
		{"service", true, rpc.AllocClientComplete, newest, false, true},
		{"batch", false, rpc.AllocClientComplete, sysbatch, true, true},
		{"batch", false, rpc.AllocClientComplete, newest, false, true},
		{"batch", false, rpc.AllocClientRunning, newest, true, true},
		{"sysbatch", false, rpc.AllocClientRunning, oldest, true, true},
		{"sysbatch", false, rpc.AllocClientRunning, sysbatch, false, true},
		{"system", false, rpc.AllocClientRunning, newest, true, true},
		{"service", false, rpc.AllocClientRunning, first, true, true},
		{"batch", false, rpc.AllocClientComplete, first, false, true},
		{"system", false, rpc.AllocClientRunning, first, false, true}, // #27499
		{"system", false, "", first, true, true},
		{"system", true, rpc.AllocClientComplete, sysbatch, true, true},
		{"system", true, rpc.AllocClientComplete, newest, false, true},
		{"system", true, "", sysbatch, true, true},
		{"system", true, "", newest, false, false},
	} {
		job := jobOf(c.jobType)
		job.Stop = c.stopped
		var allocs []*rpc.Allocation
		if c.status != "" {
			allocs = append(allocs, allocOf(c.jobType, "a", c.status, func(a *rpc.Allocation) {
				if c.stopped {
					a.DesiredStatus = rpc.AllocDesiredStop
				}
			}))
		}
		snap := stateWith(t, job, allocs...)
		s := New(&Shared{Config: &config.Config{Habits: config.HabitsOf(c.release)}}, Options{Storage: &raftnode.Storage{}})
		evals, writes, left := s.nodeEvals(snap, snap.NodeByID("n"), 7)
		if len(evals) > 1 || (len(evals) == 1) != c.evals || writes != c.writes {
			t.Errorf("%+v: %d evaluations, entry %v", c, len(evals), writes)
		}
		if want := c.jobType == "system" && c.release == first && !c.evals; left != want {
			t.Errorf("%+v: a system job is left out: %v", c, left)
		}
	}
}

// TestUnknownJobsByRelease: new releases write nothing when a job is stopped that is not there.
func TestUnknownJobsByRelease(t *testing.T) {
	for _, release := range []config.Version{{1, 4, 6}, {2, 0, 5}} {
		s := New(&Shared{Config: &config.Config{Habits: config.HabitsOf(release)}}, Options{Storage: &raftnode.Storage{}})
		s.store = state.New()
		if id, err := s.StopJob("default", "none", true); id != "" || err != nil { // there is no Raft to write to
			t.Errorf("%v: evaluation %q, %v", release, id, err)
		}
	}
	for _, release := range []config.Version{{1, 4, 5}, {1, 5, 0}} {
		if config.HabitsOf(release).UnknownJobsLeftAlone {
			t.Errorf("%v leaves alone what it stops", release)
		}
	}
}

// TestReportsOfNodesByRelease: of which nodes servers take reports.
func TestReportsOfNodesByRelease(t *testing.T) {
	all := []string{rpc.NodeStatusInit, rpc.NodeStatusReady, rpc.NodeStatusDown, rpc.NodeStatusDisconnected}
	for release, want := range map[config.Version][]string{
		{1, 4, 2}: all, {1, 4, 3}: all[1:2], {1, 4, 4}: all[1:2], {1, 4, 5}: all[:2], {2, 0, 5}: all[:2],
	} {
		var got []string
		for _, status := range all {
			if mayUpdate(config.HabitsOf(release).AllocUpdates, &rpc.Node{ID: "n", Status: status}) == nil {
				got = append(got, status)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%v takes reports of nodes that are %v, want %v", release, got, want)
		}
	}
}

// TestReturningNodesByRelease: the statuses that a node goes through whose client heartbeats,
// reports its allocation and heartbeats again.
func TestReturningNodesByRelease(t *testing.T) {
	for _, c := range []struct {
		release config.Version
		from    string
		want    string
	}{
		{config.Version{1, 4, 4}, rpc.NodeStatusDisconnected, "[ready ready ready]"},
		{config.Version{1, 4, 5}, rpc.NodeStatusDisconnected, "[initializing initializing ready]"},
		{config.Version{1, 4, 5}, rpc.NodeStatusDown, "[ready ready ready]"},
	} {
		s := New(&Shared{Config: &config.Config{Habits: config.HabitsOf(c.release)}}, Options{Storage: &raftnode.Storage{}})
		s.store = state.New()
		index := uint64(0)
		write := func(f func(tx *state.Tx) error) {
			index++
			if err := s.store.Update(index, f); err != nil {
				t.Fatal(err)
			}
		}
		status := func(to string) { write(func(tx *state.Tx) error { return tx.UpdateNodeStatus("n", to, 0, "") }) }
		report := func() {
			write(func(tx *state.Tx) error {
				tx.UpdateAllocsFromClient(&rpc.Allocation{ID: "a", NodeID: "n", ClientStatus: rpc.AllocClientRunning})
				return nil
			})
		}
		write(func(tx *state.Tx) error { return tx.UpsertNode(&rpc.Node{ID: "n", Status: rpc.NodeStatusReady}) })
		write(func(tx *state.Tx) error {
			return tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: []*rpc.Allocation{allocOf("service", "a", rpc.AllocClientPending)}})
		})
		report()
		status(c.from)
		var seen []string
		for _, reports := range []bool{false, false, true} {
			if reports {
				report()
			}
			if to := s.nextStatus(s.Snapshot().NodeByID("n"), rpc.NodeStatusDown); to != rpc.NodeStatusDown {
				t.Errorf("%v, from %s: one that falls silent then is %s", c.release, c.from, to)
			}
			status(s.nextStatus(s.Snapshot().NodeByID("n"), rpc.NodeStatusReady))
			seen = append(seen, s.Snapshot().NodeByID("n").Status)
		}
		if got := fmt.Sprint(seen); got != c.want {
			t.Errorf("%v, from %s: %s, want %s", c.release, c.from, got, c.want)
		}
	}
}

// TestEntriesWithoutEvaluations: a change of a node that concerns nobody is an entry all the same, if
// something of a job is on the node; not if a design leaves out all evaluations that there would be.
func TestEntriesWithoutEvaluations(t *testing.T) {
	down := rpc.NodeStatusDown
	for _, c := range []struct {
		job, status string
		ended       bool // an allocation of the job, on the node
		design      config.DesignConfig
		want        uint64
	}{
		{job: "batch", status: rpc.NodeStatusReady},
		{job: "batch", status: rpc.NodeStatusReady, ended: true, want: 1},
		{job: "system", status: down, design: config.DesignConfig{DownSkipsSystem: true}},
		{job: "batch", status: down, ended: true, design: config.DesignConfig{DownSkipsSystem: true}, want: 1},
	} {
		virtualtest.Test(t, func(t *testing.T) {
			s := alone(t, config.Config{Seed: 1, GC: noCollection, Habits: config.Habits{TerminalLeftAlone: true}, Design: c.design})
			node := &rpc.Node{ID: "n", Datacenter: "dc1", Status: c.status}
			err := s.store.Update(s.store.Index(), func(tx *state.Tx) error {
				errs := []error{tx.UpsertNode(node), tx.UpsertJob(jobOf(c.job))}
				if c.ended {
					over := allocOf(c.job, "a", rpc.AllocClientComplete)
					errs = append(errs, tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: []*rpc.Allocation{over}}))
				}
				return errors.Join(errs...)
			})
			before := s.LastIndex()
			if err := errors.Join(err, s.createNodeEvals(node, 5)); err != nil || s.LastIndex()-before != c.want || s.Snapshot().EvalTotal() != 0 {
				t.Errorf("%+v: %v, %d entries", c, err, s.LastIndex()-before)
			}
		})
	}
}

// TestEvaluationsOfNodesCost: each takes the leader as long as it is said to, and if they cannot be written
// who asked for them hears of it, and who judges.
func TestEvaluationsOfNodesCost(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		var costs config.Costs
		costs.Cores, costs.RPC.NodeEval = 1, 10*time.Second
		s := alone(t, config.Config{Seed: 1, GC: noCollection, Costs: costs})
		node := &rpc.Node{ID: "n", Datacenter: "dc1", Status: rpc.NodeStatusReady}
		err := s.store.Update(s.store.Index(), func(tx *state.Tx) error {
			other := jobOf("system")
			other.ID = "other"
			errs := []error{tx.UpsertNode(node), tx.UpsertJob(jobOf("system")), tx.UpsertJob(other)}
			for _, id := range []string{"m", "o", "p"} {
				errs = append(errs, tx.UpsertNode(&rpc.Node{ID: id, Datacenter: "dc1", Status: rpc.NodeStatusReady, SchedulingEligibility: rpc.NodeEligible}))
			}
			return errors.Join(errs...)
		})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		if err := s.createNodeEvals(node, 5); err != nil || time.Since(began).Truncate(time.Second) != 20*time.Second || s.Snapshot().EvalTotal() < 2 {
			t.Errorf("%d were written after %v: %v", s.Snapshot().EvalTotal(), time.Since(began), err)
		}
		s.opts.Host.Full.Add(1)
		if err := s.createNodeEvals(node, 5); !errors.Is(err, rpc.ErrNoLeader) || !strings.Contains(err.Error(), "create evaluations for node n") {
			t.Errorf("on a disk that is full: %v", err)
		}
		untold := func(want ...string) {
			t.Helper()
			if got := slices.Sorted(maps.Keys(s.shared.Unevaluated.IDs())); !slices.Equal(got, want) {
				t.Errorf("nodes whose evaluations are not written: %q, want %q", got, want)
			}
		}
		untold("n")
		for _, change := range []func() error{
			func() error { return s.SetEligibility("m", false) },
			func() error { return s.UpdateDrain("o", nil, false, nil) },
			func() error {
				_, err := s.UpdateNodeStatus(&rpc.NodeUpdateStatusRequest{NodeID: "p", Status: rpc.NodeStatusDown})
				return err
			},
			func() error {
				_, err := s.RegisterNode(&rpc.NodeRegisterRequest{Node: &rpc.Node{ID: "q", Datacenter: "dc1"}})
				return err
			},
		} {
			if err := change(); !errors.Is(err, rpc.ErrNoLeader) {
				t.Errorf("a change on a disk that is full: %v", err)
			}
		}
		untold("m", "n", "o", "p", "q")
		s.opts.Host.Full.Add(-1)
		if err := s.createNodeEvals(node, 5); err != nil {
			t.Error(err)
		}
		untold("m", "o", "p", "q")
	})
}

// TestNobodyThere: a server that does not run cannot be reached.
func TestNobodyThere(t *testing.T) {
	_, err := ToLeader(t.Context(), nil, "n", "Node.Register", "n", func(*Server) (int, error) { return 1, nil })
	if !errors.Is(err, rpc.ErrUnreachable) {
		t.Errorf("%v, want %v", err, rpc.ErrUnreachable)
	}
}

// TestAges: how exactly the age of an entry is known.
func TestAges(t *testing.T) {
	for _, tt := range []struct {
		exact         bool
		setting, want time.Duration
	}{{false, 5 * time.Minute, 5 * time.Minute}, {true, 5 * time.Minute, time.Second}, {true, time.Millisecond, time.Millisecond}} {
		s := New(&Shared{Config: &config.Config{Habits: config.Habits{ExactAges: tt.exact}, GC: config.GCConfig{TimeGranularity: tt.setting}}}, Options{Storage: &raftnode.Storage{}})
		if got := s.ageGranularity(); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}

// TestWhatIsOverOfBatchJobs: since 1.4.5 an evaluation of a batch job that goes on is over if all that it placed
// was placed before the job was changed, has ended, and did so before the limit.
func TestWhatIsOverOfBatchJobs(t *testing.T) {
	const complete = rpc.AllocClientComplete
	for _, tt := range []struct {
		name             string
		changedAt, limit uint64
		status           string // of what it placed; empty: nothing
		at               uint64 // when that was written
		over, gone       bool
	}{
		{"nothing placed", 5, 10, "", 5, true, false},
		{"of the job as it is", 5, 10, complete, 5, false, false},
		{"of the job as it was", 12, 10, complete, 5, true, true},
		{"that still runs", 12, 10, rpc.AllocClientRunning, 5, false, false},
		{"after the limit", 12, 10, complete, 11, false, false},
		{"at the limit", 12, 5, complete, 5, false, false},
	} {
		snap := gcState(t, func(tx *state.Tx) error {
			j := jobOf(rpc.JobTypeBatch)
			err := tx.UpsertJob(j)
			j.JobModifyIndex = tt.changedAt
			return err
		}, true, func(at uint64) (e *broker.Evaluation, allocs []*rpc.Allocation) {
			if at == tt.at && tt.status != "" {
				allocs = append(allocs, allocOf(rpc.JobTypeBatch, "a", tt.status, func(a *rpc.Allocation) { a.EvalID = "e" }))
			}
			return &broker.Evaluation{ID: "e", Namespace: rpc.DefaultNamespace, JobID: "job", Type: rpc.JobTypeBatch, Status: broker.StatusComplete}, allocs
		})
		e := snap.EvalByID("e")
		for _, too := range []bool{false, true} {
			c := &coreRun{snap: snap, batchToo: too}
			if over, gone := c.evalOver(e, tt.limit, false); over != (tt.over && too) || (len(gone) == 1) != (tt.gone && too) {
				t.Errorf("%s, since 1.4.5 %v: over %v, with %v", tt.name, too, over, gone)
			}
		}
	}
}
