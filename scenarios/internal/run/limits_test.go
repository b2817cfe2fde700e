package run

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/internal/actions/operations"
	"github.com/simctl/simctl/scenarios/internal/bubble"
	"github.com/simctl/simctl/scenarios/internal/conditions"
)

// even is a world whose clock goes as fast as virtual time, so that a limit on it is reached at
// an instant that a test can name.
type even struct {
	*bubble.World
	start time.Time
}

func (w even) Wall() time.Duration { return time.Since(w.start) }

// TestLimits: a run that reaches a limit ends there, with what was until then, although an event
// is an hour away. One that does not reach it is as without.
func TestLimits(t *testing.T) {
	later := []Event{{At: time.Hour, Action: operations.CollectGarbage{}}}
	sc := &Scenario{
		Run:     metrics.Run{Scenario: "idle", Broker: "legacy", Clock: ClockVirtual},
		Cluster: cluster.Config{Servers: 1}, Fleet: nodesim.Config{Nodes: 1},
		Phases: []Phase{
			{Name: "first", Until: conditions.Elapsed{For: 20 * time.Second}},
			{Name: "second", Until: conditions.Elapsed{For: 20 * time.Second}, Events: later},
			{Name: "third", Until: conditions.Elapsed{For: 20 * time.Second}},
		},
	}
	perform := func(l Limits) *metrics.Result {
		t.Helper()
		sc.Limits = l
		var res *metrics.Result
		err := bubble.Run(t.Context(), 0, func(ctx context.Context, w *bubble.World) (err error) {
			r := &run{sc: sc.Scaled(), ctx: ctx, world: even{w, time.Now()}}
			res, err = r.simulated()
			return err
		})
		if err != nil {
			t.Fatalf("limits %+v: %v", l, err)
		}
		return res
	}
	free := perform(Limits{})
	if free.Stopped != "" || len(free.Phases) != 3 || free.Totals.EndS < 3600 {
		t.Fatalf("without limits: stopped by %q after %d phases and %g s", free.Stopped, len(free.Phases), free.Totals.EndS)
	}
	if loose := perform(Limits{Time: 100 * time.Hour, Memory: math.MaxInt64}); loose.Digest() != free.Digest() {
		t.Error("limits that it does not reach change a run")
	}
	for _, c := range []struct {
		limits     Limits
		by         string
		phases     int
		from, upTo float64
	}{
		{Limits{Time: 30 * time.Second}, "--max-time 30s", 2, 24, 31},
		{Limits{Time: 100 * time.Hour, Memory: 3 << 20}, "--max-memory 3MiB", 1, 0, 1},
	} {
		res := perform(c.limits)
		end := res.Phases[len(res.Phases)-1]
		if res.Stopped != c.by || len(res.Phases) != c.phases || end.EndS < c.from || end.EndS > c.upTo {
			t.Errorf("limits %+v: stopped by %q in phase %d, at %g s, want %q, phase %d, %g to %g s",
				c.limits, res.Stopped, len(res.Phases), end.EndS, c.by, c.phases, c.from, c.upTo)
		}
		if last := res.Marks[len(res.Marks)-1]; last.Name != "stopped by "+c.by || last.AtS != end.EndS {
			t.Errorf("limits %+v: the last mark is %+v, want the end at %g s", c.limits, last, end.EndS)
		}
	}
}

// deaf are servers that fail at a request.
type deaf struct{ *Simulated }

func (deaf) CollectGarbage(context.Context) error { return errors.New("code 500 (no quorum)") }

// TestBrokenOff: a run in a real cluster that an error ends has a Result of what was until then, as one that a limit ends.
func TestBrokenOff(t *testing.T) {
	sc := &Scenario{
		Run:   metrics.Run{Scenario: "idle", Broker: "nomad-1.4.3", Target: "1.4.3", Clock: ClockWall},
		Fleet: nodesim.Config{Nodes: 1},
		Phases: []Phase{
			{Name: "first", Until: conditions.Elapsed{For: 5 * time.Second}},
			{Name: "second", Until: conditions.Elapsed{For: 20 * time.Second}, Events: []Event{{At: 2 * time.Second, Action: operations.CollectGarbage{}}}},
			{Name: "third", Until: conditions.Elapsed{For: 20 * time.Second}},
		},
	}
	var res *metrics.Result
	err := bubble.Run(t.Context(), 0, func(ctx context.Context, _ *bubble.World) (err error) {
		c, err := cluster.Start(ctx, cluster.Config{Servers: 1}.WithDefaults())
		if err != nil {
			return err
		}
		sim := &Simulated{Cluster: c}
		defer func() { err = errors.Join(err, sim.Shutdown()) }()
		res, err = On(ctx, sc, deaf{sim}, nil)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := "an error (code 500 (no quorum))"; res.Stopped != want || len(res.Phases) != 2 || len(res.Invariants) > 0 {
		t.Errorf("stopped by %q after %d phases, with %d invariants, want %q after two", res.Stopped, len(res.Phases), len(res.Invariants), want)
	}
	end := res.Phases[len(res.Phases)-1]
	if last := res.Marks[len(res.Marks)-1]; last.Name != "stopped by "+res.Stopped || last.AtS > end.EndS || end.EndS-end.StartS > 3 {
		t.Errorf("the last mark is %+v, want the end of the second phase, which is from %g to %g s", last, end.StartS, end.EndS)
	}
}
