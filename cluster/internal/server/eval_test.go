package server

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestDeletedEvaluations: while the broker is paused an operator can delete what is over, in entries of
// 728 at most, and nothing of which something runs.
func TestDeletedEvaluations(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		s := alone(t, config.Config{Seed: 1, GC: noCollection})
		over := func(id string) *broker.Evaluation {
			return &broker.Evaluation{ID: id, Namespace: rpc.DefaultNamespace, JobID: "gone", Status: broker.StatusComplete}
		}
		err := s.store.Update(s.store.Index(), func(tx *state.Tx) error {
			runs := over("runs")
			runs.JobID = "job"
			errs := []error{tx.UpsertJob(jobOf("service")), tx.UpsertEvals(runs), tx.UpsertPlanResults(&state.PlanResults{AllocsUpdated: []*rpc.Allocation{
				allocOf("service", "a", rpc.AllocClientRunning, func(a *rpc.Allocation) { a.EvalID = "runs" }),
			}})}
			for i := range deletesPerWrite + 2 {
				errs = append(errs, tx.UpsertEvals(over(fmt.Sprint(i))))
			}
			return errors.Join(errs...)
		})
		if err != nil {
			t.Fatal(err)
		}
		all := func(*broker.Evaluation) bool { return true }
		if _, _, err := s.DeleteEvals([]string{"1"}, nil); !errors.Is(err, rpc.ErrBrokerEnabled) {
			t.Errorf("while the broker works: %v", err)
		}
		if _, err := s.Write(fsm.SchedulerConfig.With(&fsm.SchedulerConfigRequest{Config: rpc.SchedulerConfig{PauseEvalBroker: true}})); err != nil {
			t.Fatal(err)
		}
		if _, _, err := s.DeleteEvals([]string{"1", "who"}, nil); !errors.Is(err, rpc.ErrEvalNotFound) {
			t.Errorf("one that is not there: %v", err)
		}
		if _, _, err := s.DeleteEvals([]string{"1", "runs"}, nil); err == nil || !strings.Contains(err.Error(), "eval runs is not safe to delete") {
			t.Errorf("one of which something runs: %v", err)
		}
		for _, c := range []struct {
			ids     []string
			matches func(*broker.Evaluation) bool
			n       int
			entries uint64
		}{{[]string{"1"}, nil, 1, 1}, {nil, all, deletesPerWrite + 1, 2}, {nil, all, 0, 0}} {
			before := s.LastIndex()
			n, index, err := s.DeleteEvals(c.ids, c.matches)
			if err != nil || n != c.n || s.LastIndex() != before+c.entries || c.entries > 0 && index != s.LastIndex() {
				t.Errorf("%d deleted in %d entries, the last %d, %v; want %d in %d", n, s.LastIndex()-before, index, err, c.n, c.entries)
			}
		}
		if n := s.Snapshot().EvalTotal(); n != 1 {
			t.Errorf("%d are left, want the one of which something runs", n)
		}
	})
}
