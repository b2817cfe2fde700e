package scale

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/nodesim"
)

func TestScaledJobs(t *testing.T) {
	j := &rpc.Job{TaskGroups: []rpc.TaskGroup{{MaxClientDisconnect: time.Minute}}, Periodic: &rpc.PeriodicConfig{Every: 30 * time.Second}}
	fast := Durations(j, 0.1)
	if g := fast.TaskGroups[0]; g.MaxClientDisconnect != 6*time.Second || g.ProgressDeadline != rpc.DefaultProgressDeadline/10 || fast.Periodic.Every != 3*time.Second {
		t.Errorf("at a tenth: %+v, %+v", g, *fast.Periodic)
	}
	if every := Durations(j, 0.001).Periodic.Every; every != time.Second {
		t.Errorf("launched every %v, want no more often than once a second", every)
	}
	if j.TaskGroups[0].MaxClientDisconnect != time.Minute || j.Periodic.Every != 30*time.Second || Durations(j, 1) != j {
		t.Error("the job itself was changed, or unscaled it is another")
	}
}

func TestScaledTiming(t *testing.T) {
	got := Durations(nodesim.Timing{RegisterRetry: 40 * time.Second}.WithDefaults(), 0.01)
	want := nodesim.Timing{
		RegisterStagger: 100 * time.Millisecond, RegisterRetry: 400 * time.Millisecond, NodeUpdate: 50 * time.Millisecond, AllocSync: 2 * time.Millisecond,
		AllocSyncRetry: 50 * time.Millisecond, WatchRetry: 300 * time.Millisecond, WatchBlock: 3 * time.Second,
		RPCHold: 50 * time.Millisecond, HeartbeatRetryUnit: 10 * time.Millisecond,
		MinHealthy: 100 * time.Millisecond,
	}
	if got != want {
		t.Errorf("scaled by 0.01: %+v, want %+v", got, want)
	}
}

// TestScalingReachesEverything: through interfaces, embedded structs, pointers and maps, but
// not into what is tagged to stay.
func TestScalingReachesEverything(t *testing.T) {
	type inner struct{ Lasts time.Duration }
	type outer struct {
		inner
		Any    any
		Nil    any
		To     *inner
		Of     map[string]inner
		Rate   float64 `scale:"rate"`
		Stays  inner   `scale:"-"`
		Number *int
		hidden time.Duration
	}
	one := inner{time.Second}
	v := outer{inner: one, Any: []any{&one}, To: &one, Of: map[string]inner{"x": one}, Rate: 5, Stays: one, Number: new(int), hidden: 7}
	fast := Durations(v, 0.5)
	for what, got := range map[string]time.Duration{
		"embedded": fast.Lasts, "interface": fast.Any.([]any)[0].(*inner).Lasts, "pointer": fast.To.Lasts, "map": fast.Of["x"].Lasts,
	} {
		if got != time.Second/2 {
			t.Errorf("%s: %v, want half a second", what, got)
		}
	}
	if fast.Rate != 10 || fast.Stays != one || fast.hidden != 7 || fast.Nil != nil || fast.Number == nil {
		t.Errorf("scaled: %+v", fast)
	}
	if one.Lasts != time.Second || v.Of["x"] != one {
		t.Errorf("the original became %+v", v)
	}
}

func TestScalingLeavesTheOriginal(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		base := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "base"))
		factor := rapid.Float64Range(0.001, 10).Draw(t, "factor")
		costs := cluster.Costs{Cores: 2, Fsync: base, Scheduler: map[string]cluster.SchedulerCosts{"system": {Base: base}}}
		scaled := Durations(costs, factor)
		want := time.Duration(float64(base) * factor)
		if scaled.Fsync != want || scaled.Scheduler["system"].Base != want || scaled.Cores != 2 {
			t.Fatalf("scaled by %g: %+v, want %v and 2 cores", factor, scaled, want)
		}
		if costs.Fsync != base || costs.Scheduler["system"].Base != base {
			t.Fatalf("the original became %+v", costs)
		}
	})
}
