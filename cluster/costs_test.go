package cluster

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestWhatCosts: how often each cost is charged, on all three servers together, for three
// heartbeats and then for a job. That is registered with a count of two, scaled to one, and
// loses the node of that, one of two: 12 entries, three of them plans, which place two, stop one
// and update the other, and replace that.
func TestWhatCosts(t *testing.T) {
	const ms = time.Millisecond
	scheduler := func(c SchedulerCosts) Costs { return Costs{Scheduler: map[string]SchedulerCosts{"service": c}} }
	const workersAsk = -1 // and that is another matter
	const withoutIdentities = "identities that clients lack"
	for _, tt := range []struct {
		what       string
		costs      Costs
		beats, job int
	}{
		{"serving", Costs{RPC: RPCCosts{Serve: ms}}, 3 * 2, workersAsk},
		{"calling", Costs{RPC: RPCCosts{Client: ms}}, 3, workersAsk},
		{"sending", Costs{RPC: RPCCosts{Send: ms}}, 3, workersAsk},
		{"answers", Costs{RPC: RPCCosts{Answer: ms}}, 3, workersAsk},
		{"serving clients", Costs{RPC: RPCCosts{Serve: ms, ClientServe: 2 * ms}}, 3 * 2 * 2, workersAsk},
		{"clients' calls on their way", Costs{RPC: RPCCosts{Send: ms, ClientSend: 2 * ms, Answer: ms, ClientAnswer: 3 * ms}}, 3 * (2 + 3), workersAsk},
		{"heartbeats", Costs{RPC: RPCCosts{Heartbeat: ms}}, 3, 0},
		{"identities of clients", Costs{RPC: RPCCosts{Verify: ms}}, 3 * 2, 2},
		{withoutIdentities, Costs{RPC: RPCCosts{Verify: ms}}, 0, 0},
		{"on threads", Costs{RPC: RPCCosts{Heartbeat: ms}, Processors: 2}, 3, 0},
		{"waking threads", Costs{ThreadWake: ms, RPC: RPCCosts{Heartbeat: time.Microsecond}, Processors: 2}, 1, workersAsk}, // which goes on with the next
		{"clients on threads", Costs{RPC: RPCCosts{Client: ms}, Processors: 2, Pooled: true}, 3, workersAsk},
		{"with nothing to do", Costs{Idle: ms}, 0, 3 * 3},
		{"evaluations of nodes", Costs{RPC: RPCCosts{NodeEval: ms}}, 0, 1},
		{"counting nodes", Costs{RPC: RPCCosts{NodeCount: ms}}, 3 * 2, 2},
		{"nodes that drain, in caches", Costs{RPC: RPCCosts{NodeWatch: 2 * ms, NodeCount: 2 * ms, NodeRecount: ms}}, 3 * 2, 2 + 2*2}, // it is counted beside its evaluation
		{"looking for nodes that drain", Costs{RPC: RPCCosts{NodeWatch: ms}}, 0, 2},
		{"scans of a job's evaluations", Costs{RPC: RPCCosts{WaitIndexScan: ms}}, 0, 1 + 2 + 3},
		{"entries, and plans taken for granted", Costs{FSM: FSMCosts{Entry: ms}}, 0, 3*12 + 3},
		{"their garbage", Costs{FSM: FSMCosts{Entry: ms}, Garbage: 2}, 0, 3 * (3*12 + 3)},
		{"their garbage, by bytes", Costs{FSM: FSMCosts{Entry: ms}, Collection: CollectionCosts{Base: 2 * ms, BaseKiB: 1500, Garbage: 1.5}}, 0, 3 * (3*12 + 3)},
		{"nodes in entries", Costs{FSM: FSMCosts{Node: ms}}, 0, 3},
		{"jobs in entries", Costs{FSM: FSMCosts{Job: ms}}, 0, 3 * 2},
		{"evaluations in entries", Costs{FSM: FSMCosts{Eval: ms}}, 0, 3 * 6},
		{"allocations in entries", Costs{FSM: FSMCosts{Alloc: ms}}, 0, 3*6 + 6},
		{"stops in entries", Costs{FSM: FSMCosts{Stop: ms}}, 0, 3*2 + 2},
		{"plans in entries", Costs{FSM: FSMCosts{Plan: ms}}, 0, 3*3 + 3},
		{"attempts", scheduler(SchedulerCosts{Base: ms}), 0, 3},
		{"garbage of attempts", func() Costs { c := scheduler(SchedulerCosts{Base: ms}); c.Garbage = 1; return c }(), 0, 2 * 3},
		{"garbage of attempts, by bytes", func() Costs {
			c := scheduler(SchedulerCosts{Base: ms, Garbage: 3})
			c.Collection = CollectionCosts{Base: 2 * ms, BaseKiB: 1500, Garbage: 1.5}
			return c
		}(), 0, (1 + 4) * 3},
		{"nodes", scheduler(SchedulerCosts{PerNode: ms}), 0, 2 + 2},
		{"ready nodes", scheduler(SchedulerCosts{PerReadyNode: ms}), 0, 2 + 1},
		{"live allocations", scheduler(SchedulerCosts{PerLiveAlloc: ms}), 0, 2 + 1},
		{"terminal allocations", scheduler(SchedulerCosts{PerTermAlloc: ms}), 0, 1},
		{"nodes, with half of them in caches", scheduler(SchedulerCosts{PerNode: 2 * ms, HalfCached: 2}), 0, 2 + 2},
		{"scored nodes", scheduler(SchedulerCosts{PerScored: ms}), 0, 2*2 + 1},
		{"what is on them, of the same plan", scheduler(SchedulerCosts{PerProposed: ms}), 0, 1},
		{"placements", scheduler(SchedulerCosts{PerPlacement: ms}), 0, 2 + 1},
		{"stops", scheduler(SchedulerCosts{PerStop: ms}), 0, 1 + 1},
		{"submitting plans", Costs{Plan: PlanCosts{Submit: ms}}, 0, 3},
		{"allocations of plans, here and there", Costs{Plan: PlanCosts{PerAlloc: ms}}, 0, 2 * 6},
		{"plans, half of which taking them for granted takes", Costs{FSM: FSMCosts{Plan: 2 * ms}, Plan: PlanCosts{Granted: 0.5}}, 0, 2*3*3 + 3},
		{"verifying plans", Costs{Plan: PlanCosts{Evaluate: ms}}, 0, 3},
		{"verifying placements", Costs{Plan: PlanCosts{PerPlace: ms}}, 0, 2 + 1 + 1},
		{"verifying stops", Costs{Plan: PlanCosts{PerStop: ms}}, 0, 1 + 1},
	} {
		t.Run(tt.what, func(t *testing.T) {
			virtualtest.Test(t, func(t *testing.T) {
				tt.costs.Cores = 4
				r := newRig(t, 2, Config{Seed: 1, Costs: tt.costs, Habits: Habits{ClientIdentities: tt.what != withoutIdentities}})
				through := r.c.NodeServer((r.c.Leader() + 1) % 3)
				status := func(node, status string) {
					_, err := through.UpdateStatus(t.Context(), &rpc.NodeUpdateStatusRequest{NodeID: node, Status: status})
					r.ok(nil, err)
				}
				r.c.SetNumSchedulers(0)
				time.Sleep(time.Second)
				last, _ := r.c.cpuTime()
				charged := func(what string, want int) {
					now, _ := r.c.cpuTime()
					if got := int((now - last).Round(ms) / ms); got != want && want != workersAsk {
						t.Errorf("%s: charged %d times, want %d", what, got, want)
					}
					last = now
				}
				for range 3 {
					status(testNode(0).ID, rpc.NodeStatusReady)
				}
				charged("heartbeats", tt.beats)
				r.c.SetNumSchedulers(2)
				r.ok(r.c.RegisterJob(t.Context(), serviceJob("svc", 2, 0)))
				time.Sleep(time.Second)
				r.ok(r.c.ScaleJob(t.Context(), "", "svc", "", 1))
				time.Sleep(time.Second)
				status(r.live("svc")[0].NodeID, rpc.NodeStatusDown)
				time.Sleep(time.Second)
				charged("a job", tt.job)
			})
		})
	}
}

// TestWhatAnIdentityCosts: a client that registers for the first time is given an identity, which the leader signs.
func TestWhatAnIdentityCosts(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		const ms = time.Millisecond
		for identities, wants := range map[bool][]time.Duration{true: {ms, 0}, false: {0, 0}} {
			r := newRig(t, 1, Config{Seed: 1, Costs: Costs{Cores: 4, Plan: PlanCosts{PerSignature: ms}}, Habits: Habits{ClientIdentities: identities}})
			for i, want := range wants {
				before, _ := r.c.cpuTime()
				_, err := r.c.NodeServer(r.c.Leader()).Register(t.Context(), &rpc.NodeRegisterRequest{Node: testNode(1)})
				r.ok(nil, err)
				if after, _ := r.c.cpuTime(); (after - before).Round(ms) != want {
					t.Errorf("identities %v, registration %d: %v were charged, want %v", identities, i+1, after-before, want)
				}
			}
		}
	})
}

// TestWhatIsOnANodeCosts: schedulers look at every allocation of a node that they rank, and the
// applier at every one of a node that a plan places on. The fourth system job finds three.
func TestWhatIsOnANodeCosts(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		const ms = time.Millisecond
		for what, costs := range map[string]Costs{
			"ranked":   {Scheduler: map[string]SchedulerCosts{rpc.JobTypeSystem: {PerProposed: ms}}},
			"verified": {Plan: PlanCosts{PerProposed: ms}},
		} {
			costs.Cores = 4
			r := newRig(t, 2, Config{Seed: 1, Costs: costs})
			for on := range 4 {
				before, _ := r.c.cpuTime()
				r.ok(r.c.RegisterJob(t.Context(), systemJob(fmt.Sprint("system-", on))))
				time.Sleep(time.Second)
				after, _ := r.c.cpuTime()
				if got, want := (after - before).Round(ms), time.Duration(2*on)*ms; got != want {
					t.Errorf("%s, with %d on each of two nodes: %v were charged, want %v", what, on, got, want)
				}
			}
		}
	})
}

// TestWhatSchedulersPutOutOfCaches: a leader that reads all nodes finds them in caches unless a scheduler works, and then if it has
// counted them less than 10 ms ago.
func TestWhatSchedulersPutOutOfCaches(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		const unit = 100 * time.Microsecond
		r := newRig(t, 3, Config{Seed: 1, Costs: Costs{
			Cores: 4, RPC: RPCCosts{NodeCount: 4 * unit, NodeRecount: unit, NodeWatch: 8 * unit}, Scheduler: map[string]SchedulerCosts{"service": {Base: time.Second}},
		}})
		says := func(node int, status, when string, each time.Duration) {
			t.Helper()
			before, _ := r.c.cpuTime()
			began := time.Now()
			_, err := r.c.NodeServer(r.c.Leader()).UpdateStatus(t.Context(), &rpc.NodeUpdateStatusRequest{NodeID: testNode(node).ID, Status: status})
			r.ok(nil, err)
			if status == rpc.NodeStatusDown {
				time.Sleep(100 * time.Millisecond) // until the drainer has looked
			}
			after, _ := r.c.cpuTime()
			spent := after - before
			if when != "at rest" {
				spent -= time.Since(began) // the scheduler's work
			}
			if spent.Round(unit) != 3*each {
				t.Errorf("a node is %s %s: %v were charged, want %v for each of three", status, when, spent, each)
			}
		}
		time.Sleep(time.Second)
		says(0, rpc.NodeStatusDown, "at rest", (1+2)*unit)
		r.ok(r.c.RegisterJob(t.Context(), serviceJob("svc", 1, 0)))
		time.Sleep(500 * time.Millisecond)
		says(1, rpc.NodeStatusDown, "beside a scheduler", (4+8)*unit)
		says(2, rpc.NodeStatusReady, "beside a scheduler", 4*unit)
		says(2, rpc.NodeStatusReady, "beside a scheduler, and soon again", unit)
	})
}

// TestWhatDeploymentsCost: a deployment that places six allocations at once is one plan, which all
// servers apply and the leader takes for granted, and its watcher reads the six.
func TestWhatDeploymentsCost(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct {
		what   string
		costs  Costs
		habits Habits
		want   int
	}{
		{"plans of deployments", Costs{FSM: FSMCosts{Deployment: ms}}, Habits{}, 3 + 1},
		{"watching", Costs{Deployment: DeploymentCosts{PerAlloc: ms}}, Habits{}, 3 * 6}, // for the deployment, for the allocations, and once more to wait
		{"what watchers copy", Costs{Deployment: DeploymentCosts{PerStub: ms}}, Habits{}, 1 + 2*6},
		{"evaluations that watchers look at", Costs{Deployment: DeploymentCosts{PerEval: ms}}, Habits{}, 1},
		{"signatures", Costs{Plan: PlanCosts{PerSignature: ms}}, Habits{SignsByRSA: true}, 6},
		{"quick signatures", Costs{Plan: PlanCosts{PerSignature: ms}}, Habits{}, 0},
		{"placements", Costs{FSM: FSMCosts{Place: ms}}, Habits{}, 3*6 + 6},
	} {
		virtualtest.Test(t, func(t *testing.T) {
			tt.costs.Cores = 4
			r := newRig(t, 3, Config{Seed: 1, Costs: tt.costs, Habits: tt.habits})
			r.ok(r.c.RegisterJob(t.Context(), serviceJob("svc", 6, 2)))
			time.Sleep(time.Second)
			spent, _ := r.c.cpuTime()
			if got := int(spent.Round(ms) / ms); got != tt.want {
				t.Errorf("%s: charged %d times, want %d", tt.what, got, tt.want)
			}
		})
	}
}

// TestWhatFollowersPlansCost: a follower's worker and the leader each code the allocations of a plan that one sends to the other, and
// once more those of the answer. A plan of the leader's own worker stays as it is.
func TestWhatFollowersPlansCost(t *testing.T) {
	const ms = time.Millisecond
	for what, costs := range map[string]PlanCosts{"the plan": {PerForward: ms}, "the answer": {PerResult: ms}} {
		for step, want := range []int{0, 2 * 3, 2 * 3} {
			virtualtest.Test(t, func(t *testing.T) {
				r := newRig(t, 3, Config{Seed: 1, Costs: Costs{Cores: 4, Plan: costs}})
				r.c.SetNumSchedulers(0)
				r.c.server((r.c.Leader() + step) % 3).SetSchedulers(1)
				r.ok(r.c.RegisterJob(t.Context(), serviceJob("svc", 3, 0)))
				time.Sleep(time.Second)
				spent, _ := r.c.cpuTime()
				if got := int(spent.Round(ms) / ms); got != want {
					t.Errorf("%s, the worker is %d servers from the leader: charged %d times, want %d", what, step, got, want)
				}
			})
		}
	}
}

// TestEntriesShareWrites: entries that come side by side wait for the disks of the leader and of
// its followers together, and cost a write together. Those that come one by one cost one each.
func TestEntriesShareWrites(t *testing.T) {
	const ms = time.Millisecond
	const nodes = 60
	for _, tt := range []struct {
		what        string
		apart       time.Duration // an entry from the next
		costs       RaftCosts
		least, most time.Duration // of CPU time; the first entry may be on its way alone
	}{
		{"the leader's writes", 0, RaftCosts{Dispatch: 10 * ms}, 10 * ms, 40 * ms},
		{"the followers' writes", 0, RaftCosts{Append: 10 * ms}, 2 * 10 * ms, 2 * 40 * ms},
		{"further entries", 0, RaftCosts{PerEntry: ms}, 3 * (nodes - 4) * ms, 3 * (nodes - 1) * ms},
		{"the leader's writes, one by one", time.Second, RaftCosts{Dispatch: 10 * ms}, nodes * 10 * ms, nodes * 10 * ms},
		{"the followers' writes, one by one", time.Second, RaftCosts{Append: 10 * ms}, 2 * nodes * 10 * ms, 2 * nodes * 10 * ms},
		{"what follows the waits for the disk", time.Second, RaftCosts{Syncs: 2, Resume: ms}, 3 * 2 * nodes * ms, 3 * 2 * nodes * ms},
		{"further entries, of which there are none", time.Second, RaftCosts{PerEntry: ms}, 0, 0},
	} {
		virtualtest.Test(t, func(t *testing.T) {
			r := newRig(t, 0, Config{Seed: 1, Costs: Costs{Cores: 4, Fsync: 100 * ms, Raft: tt.costs}})
			time.Sleep(time.Second)
			before, _ := r.c.cpuTime()
			began := time.Now()
			var wg sync.WaitGroup
			for i := range nodes {
				wg.Go(func() {
					time.Sleep(time.Duration(i) * tt.apart)
					if _, err := r.c.NodeServer(0).Register(t.Context(), &rpc.NodeRegisterRequest{Node: testNode(i)}); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if took := time.Since(began); tt.apart == 0 && (took < 200*ms || took > 700*ms) {
				t.Errorf("%s: %d entries took %v, want up to three writes on two disks", tt.what, nodes, took)
			}
			time.Sleep(time.Second)
			after, _ := r.c.cpuTime()
			if cpu := (after - before).Round(ms); cpu < tt.least || cpu > tt.most {
				t.Errorf("%s: %d entries took %v of CPU time, want %v to %v", tt.what, nodes, cpu, tt.least, tt.most)
			}
		})
	}
}

// TestCommitsWaitForWrites: the leader hears that an entry is on the followers' disks when its own next write ends, if Raft's
// main goroutine does both.
func TestCommitsWaitForWrites(t *testing.T) {
	for serial, want := range map[bool]time.Duration{false: 2 * time.Second, true: 2500 * time.Millisecond} {
		virtualtest.Test(t, func(t *testing.T) {
			r := newRig(t, 0, Config{Seed: 1, Costs: Costs{Cores: 4, Fsync: time.Second, Raft: RaftCosts{Serial: serial}}})
			time.Sleep(5 * time.Second)
			leader := r.c.NodeServer(r.c.Leader())
			var next sync.WaitGroup
			next.Go(func() {
				time.Sleep(1500 * time.Millisecond) // the leader has written the first, and the followers have not
				_, err := leader.Register(t.Context(), &rpc.NodeRegisterRequest{Node: testNode(1)})
				r.ok(nil, err)
			})
			began := time.Now()
			_, err := leader.Register(t.Context(), &rpc.NodeRegisterRequest{Node: testNode(0)})
			r.ok(nil, err)
			if took := time.Since(began); took < want || took > want+50*time.Millisecond {
				t.Errorf("the first of two entries took %v, want %v", took, want)
			}
			next.Wait()
		})
	}
}

// TestPlansCostByTheirSize: a plan's entry is paid for by the leader and by both followers, and other entries are not.
func TestPlansCostByTheirSize(t *testing.T) {
	var collection CollectionCosts
	spent := func(costs RaftCosts) (nodes, plan time.Duration) {
		virtualtest.Test(t, func(t *testing.T) {
			r := newRig(t, 3, Config{Seed: 1, Costs: Costs{Cores: 4, Raft: costs, Collection: collection}})
			nodes, _ = r.c.cpuTime()
			r.ok(r.c.RegisterJob(t.Context(), serviceJob("svc", 100, 0)))
			time.Sleep(10 * time.Second)
			plan, _ = r.c.cpuTime()
			plan -= nodes
		})
		return nodes, plan
	}
	_, all := spent(RaftCosts{PerKiB: time.Millisecond})
	others, plans := spent(RaftCosts{PerPlanKiB: time.Millisecond})
	if others != 0 || plans < 3*10*time.Millisecond || plans >= all {
		t.Errorf("100 placements took %v, other entries %v; want at least 30 ms, less than the %v of all entries, and none", plans, others, all)
	}
	collection = CollectionCosts{Base: time.Millisecond, BaseKiB: 1000, Garbage: 1}
	_, collected := spent(RaftCosts{PerPlanKiB: time.Millisecond, PlanGarbage: 3})
	if want := 4 * plans; collected < want-time.Millisecond || collected > want+time.Millisecond {
		t.Errorf("with their garbage, three times as dear, placements took %v, want %v", collected, want)
	}
	_, all = spent(RaftCosts{PerKiB: time.Millisecond})
	collection.Others = 2
	_, collected = spent(RaftCosts{PerKiB: time.Millisecond})
	if want := 3 * all; collected < want-time.Millisecond || collected > want+time.Millisecond {
		t.Errorf("with their garbage, twice as dear, writes took %v, want %v", collected, want)
	}
}

// TestWhoSignsLeavesNothing: signatures allocate nothing, whatever other work does.
func TestWhoSignsLeavesNothing(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, Config{Seed: 1, Costs: Costs{
			Cores: 4, Plan: PlanCosts{PerToken: time.Millisecond, PerWrite: 2 * time.Millisecond},
			Collection: CollectionCosts{Base: time.Millisecond, BaseKiB: 1000, Garbage: 1, Others: 1},
		}})
		r.ok(r.c.RegisterJob(t.Context(), serviceJob("svc", 100, 0)))
		time.Sleep(10 * time.Second)
		spent, _ := r.c.cpuTime()
		if want := 500 * time.Millisecond; spent < want-time.Millisecond || spent > want+time.Millisecond { // 100 + 200 + 200 for what these leave
			t.Errorf("100 placements took %v, want %v", spent, want)
		}
	})
}
