package cluster

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestAWatchedLeaderTellsOnceASecond: what the leader tells of its broker changes no more often, and at an instant of the second by
// the seed.
func TestAWatchedLeaderTellsOnceASecond(t *testing.T) {
	instants := map[time.Duration]bool{}
	for seed := range int64(3) {
		virtualtest.Test(t, func(t *testing.T) {
			began := time.Now()
			r := newRig(t, 1, Config{Seed: seed, Costs: Costs{Cores: 4, Monitoring: MonitoringCosts{Base: time.Millisecond}}})
			r.c.SetNumSchedulers(0)
			var changed []time.Time
			ready := r.c.Stats().Broker.Ready
			for i := range 550 {
				if i%30 == 0 {
					r.ok(r.c.RegisterJob(t.Context(), serviceJob(fmt.Sprint("svc", i), 1, 0)))
				}
				time.Sleep(10 * time.Millisecond)
				if now := r.c.Stats().Broker.Ready; now != ready {
					ready, changed = now, append(changed, time.Now())
				}
			}
			if ready < 9 || len(changed) < 4 {
				t.Fatalf("%d of 19 evaluations are told of in %d steps, want 9 or more, in 4", ready, len(changed))
			}
			for i := range changed[1:] {
				if apart := changed[i+1].Sub(changed[i]); apart < 990*time.Millisecond {
					t.Errorf("what the leader tells changes again after %v, want a second", apart)
				}
			}
			instants[changed[0].Sub(began)%time.Second] = true
		})
	}
	if len(instants) < 3 {
		t.Errorf("gauges of three seeds change at the same instants of a second: %v", slices.Collect(maps.Keys(instants)))
	}
}

// TestGaugesTellOfTheirInstant: evaluations that are enqueued at the instant at which gauges are due are in them. The leader tries
// those that ran out of planning attempts again once a minute, to the nanosecond, and with this seed the gauges are due then, too.
func TestGaugesTellOfTheirInstant(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, Config{Seed: -1, Costs: Costs{Cores: 4, Monitoring: MonitoringCosts{Base: time.Millisecond}}})
		r.fails = allTypes // nobody asked for the evaluations below
		r.c.SetNumSchedulers(0)
		srv := r.c.leader()
		before := r.c.Stats().Broker.Ready
		for i := range 6 {
			e := &broker.Evaluation{
				ID: fmt.Sprintf("%08d-blocked", i), Namespace: rpc.DefaultNamespace, JobID: fmt.Sprint("job", i), Type: rpc.JobTypeService,
				Status: broker.StatusBlocked, TriggeredBy: broker.TriggeredByMaxPlans, SnapshotIndex: r.c.Stats().LastIndex,
			}
			if _, err := srv.Write(fsm.EvalUpdate.With(&fsm.EvalUpdateRequest{Evals: []*broker.Evaluation{e}})); err != nil {
				t.Fatal(err)
			}
			for range 61 * 100 {
				if _, _, blocked := srv.Queues(); blocked == 0 {
					break
				}
				time.Sleep(10 * time.Millisecond)
			}
			if _, _, blocked := srv.Queues(); blocked > 0 || r.c.Stats().Broker.Ready != before+i+1 {
				t.Errorf("minute %d: %d blocked, %d ready, want none and %d", i, blocked, r.c.Stats().Broker.Ready, before+i+1)
			}
		}
	})
}
