package cluster

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

// testNode returns a node as a client registers it.
func testNode(i int) *rpc.Node {
	return &rpc.Node{
		ID: fmt.Sprintf("node-%05d", i), SecretID: fmt.Sprintf("secret-%d", i), Name: fmt.Sprintf("n%d", i),
		Datacenter: "dc1", Attributes: map[string]string{"kernel.name": "linux"},
		Resources: rpc.Resources{CPUMHz: 4000, MemoryMB: 8192, DiskMB: 10000},
	}
}

func systemJob(id string) *rpc.Job {
	return &rpc.Job{
		ID: id, Type: rpc.JobTypeSystem, Priority: 50, Datacenters: []string{"dc1"},
		TaskGroups: []rpc.TaskGroup{{Name: "tg", Count: 1, Resources: rpc.Resources{CPUMHz: 10, MemoryMB: 10}}},
	}
}

// startCluster starts a cluster that the test stops, and fails the test if it cannot.
func startCluster(t *testing.T, cfg Config) *Cluster {
	t.Helper()
	c, err := Start(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Shutdown(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// register brings nodes from to upTo into the cluster, ready, a millisecond apart.
func register(t *testing.T, c *Cluster, from, upTo int) {
	t.Helper()
	var wg sync.WaitGroup
	for i := from; i < upTo; i++ {
		wg.Go(func() {
			time.Sleep(time.Duration(i-from)*time.Millisecond + time.Duration(i))
			srv := c.NodeServer(i % c.Servers())
			n := testNode(i)
			if _, err := srv.Register(t.Context(), &rpc.NodeRegisterRequest{Node: n}); err != nil {
				t.Error(err)
				return
			}
			resp, err := srv.UpdateStatus(t.Context(), &rpc.NodeUpdateStatusRequest{NodeID: n.ID, Status: rpc.NodeStatusReady})
			if err != nil || resp.HeartbeatTTL < 10*time.Second || resp.HeartbeatTTL >= 20*time.Second {
				t.Errorf("node %d ready: ttl %v, error %v", i, resp.HeartbeatTTL, err)
			}
		})
	}
	wg.Wait()
}

// TestRegisterWritesNomadsEntries: a node costs one entry for its registration, one for
// its status and one for all its evaluations, which pile up while schedulers are off.
func TestRegisterWritesNomadsEntries(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		c := startCluster(t, Config{Seed: 1})
		before := c.Stats().LastIndex
		for j := range 3 {
			if _, err := c.RegisterJob(t.Context(), systemJob(fmt.Sprintf("sys-%d", j))); err != nil {
				t.Fatal(err)
			}
		}
		register(t, c, 0, 40)
		st := c.Stats()
		got := c.EntriesBetween(before, st.LastIndex)
		want := map[string]uint64{
			"JobRegisterRequestType": 3, "NodeRegisterRequestType": 40,
			"NodeUpdateStatusRequestType": 40, "EvalUpdateRequestType": 40,
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("entries %v, want %v", got, want)
		}
		if st.Broker.Ready != 3 || st.Broker.Pending != 120 || st.Counters.EvalsCreated != 123 {
			t.Errorf("broker %+v, counters %+v; want 3 ready, 120 pending, 123 created", st.Broker, st.Counters)
		}
	})
}

// TestDrain: with schedulers on, the broker empties; the legacy one hands every
// evaluation to a worker, the shedding one a few.
func TestDrain(t *testing.T) {
	for _, policy := range []broker.Policy{broker.Legacy(), broker.Shedding()} {
		t.Run(policy.String(), func(t *testing.T) {
			virtualtest.Test(t, func(t *testing.T) {
				c := startCluster(t, Config{Seed: 1, Policy: policy})
				for j := range 3 {
					if _, err := c.RegisterJob(t.Context(), systemJob(fmt.Sprintf("sys-%d", j))); err != nil {
						t.Fatal(err)
					}
				}
				register(t, c, 0, 40)
				before := c.Stats()
				c.SetNumSchedulers(2)
				// Every node is down by then: the storm's evaluations are among those drained.
				for range 120 {
					if time.Sleep(time.Second); c.Stats().NodesByStatus[rpc.NodeStatusDown] == 40 && c.Stats().StatePending == 0 {
						break
					}
				}
				st := c.Stats()
				if st.StatePending != 0 || st.Broker.Ready+st.Broker.Pending+st.Broker.Unacked+st.Broker.Cancelable != 0 {
					t.Errorf("not drained: %+v", st)
				}
				count := st.Counters
				if count.EvalsCreated != 3+2*120 || count.EvalsProcessed+count.EvalsCanceled != count.EvalsCreated {
					t.Errorf("of 243 evaluations %+v", count)
				}
				if shed := count.EvalsCanceled > 0; shed != (policy == broker.Shedding()) {
					t.Errorf("%v canceled %d evaluations", policy, count.EvalsCanceled)
				}
				entries := c.EntriesBetween(before.LastIndex, st.LastIndex)
				if entries["ApplyPlanResultsRequestType"] != count.PlansSubmitted || entries["NodeUpdateStatusRequestType"] != 40 {
					t.Errorf("entries %v for %d plans", entries, count.PlansSubmitted)
				}
			})
		})
	}
}
