package config

import (
	"math"
	"reflect"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
)

// TestDefaults holds the defaults to those of Nomad, and fields that are set to themselves.
func TestDefaults(t *testing.T) {
	c := Config{}.WithDefaults()
	for _, f := range []struct {
		name      string
		got, want any
	}{
		{"servers", c.Servers, 3}, {"policy", c.Policy, broker.Legacy()},
		{"heartbeat", []any{c.Heartbeat.MinTTL, c.Heartbeat.MaxPerSecond, c.Heartbeat.Grace, c.Heartbeat.FailoverTTL}, []any{10 * time.Second, 50.0, 10 * time.Second, 5 * time.Minute}},
		{"reaper", []any{c.Reaper.Interval, c.Reaper.Batch}, []any{5 * time.Second, 728}},
		{"raft", []any{c.Raft.HeartbeatTimeout, c.Raft.ElectionTimeout, c.Raft.LeaderLeaseTimeout, c.Raft.CommitTimeout, c.Raft.SnapshotThreshold, c.Raft.SnapshotInterval, c.Raft.TrailingLogs},
			[]any{time.Second, time.Second, 500 * time.Millisecond, 50 * time.Millisecond, uint64(8192), 2 * time.Minute, uint64(10240)}},
		{"evaluations", []any{c.Eval.NackTimeout, c.Eval.InitialNackDelay, c.Eval.SubsequentNackDelay, c.Eval.DeliveryLimit, c.Eval.FailedFollowupBaseline, c.Eval.FailedFollowupRange},
			[]any{time.Minute, time.Second, 20 * time.Second, 3, time.Minute, 5 * time.Minute}},
		{"collection", []any{c.GC.Interval, c.GC.TokenInterval, c.GC.EvalThreshold, c.GC.BatchEvalThreshold, c.GC.JobThreshold, c.GC.NodeThreshold, c.GC.DeploymentThreshold, c.GC.TimeGranularity},
			[]any{5 * time.Minute, 10 * time.Minute, time.Hour, 24 * time.Hour, 4 * time.Hour, 24 * time.Hour, time.Hour, 5 * time.Minute}},
		{"rejections", []any{c.PlanRejection.Threshold, c.PlanRejection.Window}, []any{100, 5 * time.Minute}},
		{"batches", c.BatchUpdateInterval, 50 * time.Millisecond},
	} {
		if !reflect.DeepEqual(f.got, f.want) {
			t.Errorf("%s: %v, want %v", f.name, f.got, f.want)
		}
	}
	set := Config{Servers: 5, Policy: broker.Shedding(), BatchUpdateInterval: time.Second}
	set.Raft.ElectionTimeout = time.Minute
	if d := set.WithDefaults(); d.Servers != 5 || d.Policy != broker.Shedding() || d.BatchUpdateInterval != time.Second || d.Raft.ElectionTimeout != time.Minute {
		t.Errorf("what was set became %+v", d)
	}
}

func TestValidate(t *testing.T) {
	for _, c := range []struct {
		servers, schedulers int
		ok                  bool
	}{{1, 0, true}, {3, 2, true}, {0, 2, false}, {-1, 2, false}, {3, -1, false}} {
		if err := (Config{Servers: c.servers, NumSchedulers: c.schedulers}).Validate(); (err == nil) != c.ok {
			t.Errorf("%d servers with %d schedulers: %v", c.servers, c.schedulers, err)
		}
	}
}

// TestCollecting: a cycle marks all that lives when as much was left, so the more of that misses the caches the dearer is each KiB.
func TestCollecting(t *testing.T) {
	const ms, us = time.Millisecond, time.Microsecond
	heap := CollectionCosts{Base: 25 * ms, PerRow: 20 * us, HalfCached: 10_000, Garbage: 0.5, BaseKiB: 10_000, RowKiB: 6}
	for _, tt := range []struct {
		costs  Costs
		leaves float64
		rows   int
		want   time.Duration
	}{
		{Costs{Garbage: 0.6}, 0, 10_000, 600 * us},
		{Costs{Garbage: 0.6}, 0.2, 10_000, 600 * us},
		{Costs{Garbage: 0.6, Collection: heap}, 0, 0, 1250 * us},       // 500 KiB of 10,000, which take 25 ms
		{Costs{Garbage: 0.6, Collection: heap}, 0, 10_000, 893 * us},   // of 70,000, which take 125 ms
		{Costs{Garbage: 0.6, Collection: heap}, 0.2, 10_000, 357 * us}, // 200 KiB
		{Costs{Garbage: 0.6, Collection: heap}, 0, 990_000, 1649 * us}, // nearly all misses
	} {
		if got := tt.costs.Collecting(ms, tt.leaves, tt.rows).Round(us); got != tt.want {
			t.Errorf("%+v, %v KiB a microsecond, %d rows: %v, want %v", tt.costs.Collection, tt.leaves, tt.rows, got, tt.want)
		}
	}
}

// TestEvals: evaluations beyond the tenth of an entry cost what is said of them, and otherwise what all cost.
func TestEvals(t *testing.T) {
	for n, want := range map[int]time.Duration{0: 0, 1: 5, 10: 50, 11: 53, 728: 50 + 718*3} {
		if got := (FSMCosts{Eval: 5, MoreEvals: 3}).Evals(n, 0).Total(); got != want {
			t.Errorf("%d evaluations cost %d, want %d", n, got, want)
		}
		if got, want := (FSMCosts{Eval: 5}).Evals(n, 0).Total(), time.Duration(5*n); got != want {
			t.Errorf("%d evaluations that cost alike cost %d, want %d", n, got, want)
		}
	}
}

// TestManyRows: what long transactions write costs by how much of the state is in the processor's caches, and leaves
// garbage of its own.
func TestManyRows(t *testing.T) {
	costs := Costs{
		FSM:        FSMCosts{Eval: 5, MoreEvals: 4, Alloc: 7, Place: 6, HalfCached: 1000, Garbage: 0.1},
		Collection: CollectionCosts{Garbage: 0.3, BaseKiB: 1},
	}
	for _, tt := range []struct {
		what   string
		work   Work
		want   Work
		leaves float64
	}{
		{"ten evaluations", costs.FSM.Evals(10, 1000), Work{Few: 50}, 0.3},
		{"thirty", costs.FSM.Evals(30, 1000), Work{Few: 50, Many: 40}, (0.3*50 + 0.1*40) / 90},
		{"thirty in a large state", costs.FSM.Evals(30, 3000), Work{Few: 50, Many: 60}, (0.3*50 + 0.1*60) / 110},
		{"placements", costs.FSM.Placing(20, 1000), Work{Many: 60}, 0.1},
		{"placements that cost what others do", FSMCosts{Alloc: 7, HalfCached: 1000}.Placing(20, 1000), Work{Few: 140}, 0.3},
	} {
		if tt.work != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.what, tt.work, tt.want)
		}
		if got := costs.Leaves(tt.work); math.Abs(got-tt.leaves) > 1e-9 {
			t.Errorf("%s: leave %v KiB a microsecond, want %v", tt.what, got, tt.leaves)
		}
	}
	costs.FSM.Garbage = 0
	if got := costs.Leaves(Work{Many: 60}); got != 0.3 {
		t.Errorf("of garbage nothing is said: %v KiB a microsecond, want what is usual", got)
	}
}

// TestChangeIn: a change that older lines got is in them from then on, and in what follows the
// newest.
func TestChangeIn(t *testing.T) {
	c := Change{Since: []Version{{1, 4, 5}, {1, 5, 2}, {1, 6, 0}}}
	for v, want := range map[Version]bool{
		{1, 4, 4}: false, {1, 4, 5}: true, {1, 4, 9}: true, {1, 5, 1}: false, {1, 5, 2}: true, {1, 6, 0}: true, {1, 7, 1}: true, {2, 0, 0}: true, {2, 4, 9}: true,
		{0, 4, 9}: false, {0, 5, 9}: false,
	} {
		if got := c.In(v); got != want {
			t.Errorf("in %v: %v, want %v", v, got, want)
		}
	}
	old := Change{Since: []Version{{1, 0, 5}, {1, 4, 5}, {2, 1, 0}}}
	for v, want := range map[Version]bool{{2, 0, 0}: false, {2, 4, 5}: true, {1, 5, 0}: false, {2, 0, 4}: false} {
		if got := old.In(v); got != want {
			t.Errorf("of two lines, in %v: %v, want %v", v, got, want)
		}
	}
}
