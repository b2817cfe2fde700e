package leader

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/virtualtest"
)

// leading is what a leader has of evaluations, whose only log is l, until the test ends.
func leading(t *testing.T, l *soleLog, cfg config.Config) *Evaluations {
	t.Helper()
	cfg.Policy = broker.Shedding()
	cfg = cfg.WithDefaults()
	v := NewEvaluations(l, &cfg, 1)
	v.SetEnabled(true)
	t.Cleanup(v.Broker.Close)
	return v
}

// reaping is leading with the reapers at work.
func reaping(t *testing.T, l *soleLog, cfg config.Config) *Evaluations {
	t.Helper()
	v := leading(t, l, cfg)
	ctx, cancel := context.WithCancel(t.Context())
	var loops sync.WaitGroup
	v.Reap(ctx, &loops)
	t.Cleanup(func() {
		v.Broker.SetEnabled(false)
		cancel()
		v.switched.Notify()
		loops.Wait()
	})
	return v
}

// looping has the reaper of what was shed at work until the function is called.
func looping(t *testing.T, v *Evaluations) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var loop sync.WaitGroup
	loop.Go(func() { v.reapCancelable(ctx) })
	return func() {
		cancel()
		loop.Wait()
	}
}

// lose has a worker take the evaluation and give it back.
func lose(t *testing.T, v *Evaluations) {
	t.Helper()
	d, err := v.Dequeue(t.Context(), []string{"service"}, time.Minute, 0)
	if err != nil || d.Eval == nil {
		t.Fatalf("dequeue: %+v, %v", d, err)
	}
	if err := v.Nack(d.Eval, d.Token); err != nil {
		t.Fatal(err)
	}
}

// TestFailedReaper: what was delivered too often is marked as failed, with another to follow.
// When that cannot be written the evaluation stays the broker's: it comes up again, until it
// can.
func TestFailedReaper(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		l := newSoleLog(t)
		v := reaping(t, l, config.Config{Eval: config.EvalConfig{DeliveryLimit: 1}})
		e := evaluation("e")
		if _, err := l.Write(fsm.EvalUpdate.With(&fsm.EvalUpdateRequest{Evals: []*broker.Evaluation{e}})); err != nil {
			t.Fatal(err)
		}
		v.Written(e)
		l.refusing(rpc.ErrNoLeader)
		lose(t, v)
		synctest.Wait()
		if s := v.Broker.Stats(); s.Unacked != 1 || l.status("e") != broker.StatusPending {
			t.Fatalf("the write failed, but the broker holds %+v and the state says %q", s, l.status("e"))
		}
		time.Sleep(time.Second)
		l.refusing(nil)
		time.Sleep(time.Minute) // the reaper's own delivery times out
		if s := v.Broker.Stats(); s.Unacked != 0 || l.status("e") != broker.StatusFailed {
			t.Errorf("a minute after writes work again the broker holds %+v and the state says %q", s, l.status("e"))
		}
		if next := l.status("follow-up/e"); next != broker.StatusPending {
			t.Errorf("the one to follow is %q, want it pending", next)
		}
		if n := len(slices.DeleteFunc(l.causes, func(c fsm.Cause) bool { return c != fsm.EvalGivenUp })); n != 2 {
			t.Errorf("the account has %d evaluations given up, want 2: one whose write failed", n)
		}
	})
}

// TestFailedReaperOfPurgedJobs: newer releases try again later only if the job is there.
func TestFailedReaperOfPurgedJobs(t *testing.T) {
	for _, tt := range []struct {
		old, purged, followed bool
	}{{true, true, true}, {false, true, false}, {false, false, true}} {
		virtualtest.Test(t, func(t *testing.T) {
			l := newSoleLog(t)
			v := reaping(t, l, config.Config{Eval: config.EvalConfig{DeliveryLimit: 1}, Habits: config.Habits{PurgedNotRetried: !tt.old}})
			e := evaluation("e")
			if !tt.purged {
				l.update(func(tx *state.Tx) error {
					return tx.UpsertJob(&rpc.Job{Namespace: e.Namespace, ID: e.JobID, Type: e.Type})
				})
			}
			if _, err := l.Write(fsm.EvalUpdate.With(&fsm.EvalUpdateRequest{Evals: []*broker.Evaluation{e}})); err != nil {
				t.Fatal(err)
			}
			v.Written(e)
			lose(t, v)
			synctest.Wait()
			written := l.Snapshot().EvalByID("e")
			if followed := l.status("follow-up/e") != ""; followed != tt.followed || (written.NextEval != "") != followed || written.Status != broker.StatusFailed {
				t.Errorf("%+v: followed %v, and written %+v", tt, followed, written)
			}
		})
	}
}

// TestFailedReaperOfCoreJobs: evaluations of theirs are in no state, and simply end.
func TestFailedReaperOfCoreJobs(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		l := newSoleLog(t)
		v := reaping(t, l, config.Config{Eval: config.EvalConfig{DeliveryLimit: 1}})
		v.EnqueueCore("eval-gc")
		d, err := v.Dequeue(t.Context(), []string{rpc.JobTypeCore}, time.Minute, 0)
		if err != nil || d.Eval == nil {
			t.Fatalf("dequeue: %+v, %v", d, err)
		}
		if err := v.Nack(d.Eval, d.Token); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := v.Broker.Stats(); s.Unacked+s.Ready+s.Waiting != 0 || l.store.Index() != 0 {
			t.Errorf("the broker holds %+v, and the log is at %d; want nothing in either", s, l.store.Index())
		}
	})
}

// TestBatchesOfTheReaper: a share of what was shed, if that is more than a batch.
func TestBatchesOfTheReaper(t *testing.T) {
	for _, tt := range []struct {
		share       float64
		shed, batch int
	}{{0, 1000, 728}, {0.5, 1000, 728}, {0.9, 1000, 900}, {1, 100, 100}} {
		l := newSoleLog(t)
		v := leading(t, l, config.Config{Design: config.DesignConfig{ReapShare: tt.share}})
		var shed []*broker.Evaluation
		for i := range tt.shed {
			shed = append(shed, evaluation(fmt.Sprint(i)))
		}
		v.Broker.Cancel(shed)
		if !v.cancelBatch() || l.Snapshot().EvalTotal() != tt.batch {
			t.Errorf("%d of %d written for a share of %g, want %d", l.Snapshot().EvalTotal(), tt.shed, tt.share, tt.batch)
		}
		if !slices.Equal(l.causes, []fsm.Cause{fsm.EvalsReaped}) {
			t.Errorf("the batch is due to %v", l.causes)
		}
	}
}

// TestTicksOfTheReaper: it writes a batch at its interval, however often it is woken in between.
func TestTicksOfTheReaper(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		l := newSoleLog(t)
		v := leading(t, l, config.Config{Reaper: config.ReaperConfig{Interval: 5 * time.Second, Batch: 1}})
		defer looping(t, v)()
		var shed []*broker.Evaluation
		for i := range 9 {
			shed = append(shed, evaluation(fmt.Sprint(i)))
		}
		v.Broker.Cancel(shed)
		written := ""
		for range 3 {
			time.Sleep(3 * time.Second)
			Wake(v.reap) // as an ack does
			time.Sleep(time.Second)
			written += fmt.Sprint(l.Snapshot().EvalTotal(), " ")
			time.Sleep(time.Second) // at its end comes the tick
		}
		time.Sleep(time.Second)
		if written += fmt.Sprint(l.Snapshot().EvalTotal()); written != "1 3 5 6" {
			t.Errorf("written %s, want 1 3 5 6", written)
		}
	})
}

// TestWhatReapingCosts: each batch costs once, a wake-up that finds nothing costs nothing, and what is shed while
// the reaper computes is in the batch.
func TestWhatReapingCosts(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		l := newSoleLog(t)
		cfg := config.Config{Reaper: config.ReaperConfig{Interval: time.Hour, Batch: 10}}
		cfg.Costs.RPC.Reap = 2 * time.Second
		v := leading(t, l, cfg)
		defer looping(t, v)()
		Wake(v.reap)
		time.Sleep(time.Second)
		v.Broker.Cancel([]*broker.Evaluation{evaluation("1")})
		Wake(v.reap)
		time.Sleep(time.Second)
		v.Broker.Cancel([]*broker.Evaluation{evaluation("2")})
		Wake(v.reap)
		time.Sleep(time.Minute)
		if n := l.Snapshot().EvalTotal(); n != 2 || l.computed != 2*time.Second || len(l.causes) != 1 {
			t.Errorf("%d of 2 canceled in %d batches, which cost %v, want one of 2s", n, len(l.causes), l.computed)
		}
	})
}

// TestReaperThatIsLate: one whose write takes longer than its interval goes on at its interval
// afterwards.
func TestReaperThatIsLate(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		l := newSoleLog(t)
		l.takes = 6 * time.Second
		v := leading(t, l, config.Config{Reaper: config.ReaperConfig{Interval: 5 * time.Second, Batch: 1}})
		defer looping(t, v)()
		v.Broker.Cancel([]*broker.Evaluation{evaluation("1"), evaluation("2"), evaluation("3"), evaluation("4")})
		time.Sleep(4 * time.Second)
		Wake(v.reap) // as an ack does
		time.Sleep(time.Minute)
		if n := l.Snapshot().EvalTotal(); n != 4 {
			t.Errorf("%d of 4 are canceled", n)
		}
	})
}

// TestReaperThatFails: a batch that cannot be written is lost to the broker, unless a design gives
// it back.
func TestReaperThatFails(t *testing.T) {
	for keeps, want := range map[bool]int{false: 0, true: 2} {
		l := newSoleLog(t)
		v := leading(t, l, config.Config{Design: config.DesignConfig{ReapKeepsFailed: keeps}})
		v.Broker.Cancel([]*broker.Evaluation{evaluation("1"), evaluation("2")})
		l.refusing(rpc.ErrNoLeader)
		if v.cancelBatch() || v.Broker.Stats().Cancelable != want {
			t.Errorf("with failed batches kept %v: %d are left, want %d", keeps, v.Broker.Stats().Cancelable, want)
		}
	}
}

// TestFailedOnesAreTriedAgain: a blocked evaluation that ran out of attempts is woken within a
// minute, and no other.
func TestFailedOnesAreTriedAgain(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		v := reaping(t, newSoleLog(t), config.Config{})
		v.Blocked.Block(evaluation("failed", func(e *broker.Evaluation) { e.TriggeredBy = broker.TriggeredByMaxPlans }), "")
		v.Blocked.Block(evaluation("full"), "")
		time.Sleep(59 * time.Second)
		if s := v.Broker.Stats(); s.Ready != 0 || v.Blocked.Size() != 2 {
			t.Errorf("within a minute: %+v, %d blocked", s, v.Blocked.Size())
		}
		time.Sleep(2 * time.Second)
		if s := v.Broker.Stats(); s.Ready != 1 || v.Blocked.Size() != 1 {
			t.Errorf("after a minute: %+v, %d blocked; want one of each", s, v.Blocked.Size())
		}
	})
}

// TestReapUntilEmpty: a design writes batch after batch on one wake-up, and stops when it leads no more.
func TestReapUntilEmpty(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		for until, want := range map[bool]int{false: 1, true: 3} {
			l := newSoleLog(t)
			v := leading(t, l, config.Config{Reaper: config.ReaperConfig{Interval: time.Minute, Batch: 1}, Design: config.DesignConfig{ReapUntilEmpty: until}})
			stop := looping(t, v)
			v.Broker.Cancel([]*broker.Evaluation{evaluation("1"), evaluation("2"), evaluation("3")})
			Wake(v.reap) // as an ack does
			time.Sleep(time.Second)
			stop()
			if n := l.Snapshot().EvalTotal(); n != want {
				t.Errorf("until empty %v: %d of 3 are canceled, want %d", until, n, want)
			}
		}
	})
}

// TestWithStatus: an evaluation that the leader writes off says why and since when.
func TestWithStatus(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		e := evaluation("e")
		time.Sleep(time.Second)
		got := withStatus(e, broker.StatusFailed, "why")
		if got.Status != broker.StatusFailed || got.StatusDescription != "why" || got.ModifyTime != time.Now().UnixNano() || e.Status == broker.StatusFailed {
			t.Errorf("%+v became %+v", e, got)
		}
	})
}

// TestWhoHasRoomForAll: an evaluation that is complete and placed everything tells that its job does not wait
// for room any more. One that was written off tells nothing, nor does one that lacks room itself.
func TestWhoHasRoomForAll(t *testing.T) {
	for _, tt := range []struct {
		status string
		lacks  map[string]int
		left   int
	}{
		{broker.StatusComplete, nil, 0}, {broker.StatusComplete, map[string]int{"tg": 1}, 1}, {broker.StatusCanceled, nil, 1}, {broker.StatusFailed, nil, 1},
	} {
		v := leading(t, newSoleLog(t), config.Config{})
		blocked := evaluation("blocked")
		v.Blocked.Block(blocked, "")
		v.Written(evaluation("other", func(e *broker.Evaluation) { e.JobID, e.Status, e.FailedTGAllocs = blocked.JobID, tt.status, tt.lacks }))
		if n := v.Blocked.Size(); n != tt.left {
			t.Errorf("after one that is %s and lacks %v: %d wait, want %d", tt.status, tt.lacks, n, tt.left)
		}
	}
}
