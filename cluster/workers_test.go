package cluster

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestPausedWorkers: a leader works with a quarter of its workers, rounded up, whether they were
// there when it came to lead or came later.
func TestPausedWorkers(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 1, 3: 1, 4: 1, 8: 2, 9: 3} {
		for _, later := range []bool{false, true} {
			virtualtest.Test(t, func(t *testing.T) {
				cfg := Config{Seed: 1, Servers: 1, NumSchedulers: n, Costs: Costs{Cores: 16, Scheduler: map[string]SchedulerCosts{"system": {Base: time.Minute}}}}
				r := newRig(t, 1, cfg)
				r.fails = allTypes // for what is in hand in the end
				if later {
					r.c.SetNumSchedulers(1)
					r.c.SetNumSchedulers(n)
				}
				time.Sleep(time.Second) // those that ask already are answered
				for i := range 10 {
					r.ok(r.c.RegisterJob(t.Context(), systemJob(fmt.Sprint(i))))
				}
				time.Sleep(10 * time.Second)
				if b := r.c.Stats().Broker; b.Unacked != want {
					t.Errorf("%d of %d workers work on a leader, set later %v; want %d", b.Unacked, n, later, want)
				}
			})
		}
	}
}

// TestWorkersThatGoFinish: a reload that takes workers away returns once they are done with what they
// have in hand.
func TestWorkersThatGoFinish(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, Config{Seed: 1, Servers: 1, NumSchedulers: 1, Costs: Costs{Cores: 16, Scheduler: map[string]SchedulerCosts{"system": {Base: 30 * time.Second}}}})
		r.ok(r.c.RegisterJob(t.Context(), systemJob("sys")))
		time.Sleep(10 * time.Second)
		began := time.Now()
		r.c.SetNumSchedulers(0)
		if b, took := r.c.Stats().Broker, time.Since(began); b.Unacked != 0 || len(r.live("sys")) != 1 || took < 15*time.Second {
			t.Errorf("after %v %d evaluations are with workers, and %d allocations are placed", took, b.Unacked, len(r.live("sys")))
		}
	})
}

// TestPlansThatConflict: of two plans for the room of one the second is refused, and its worker
// tries again at once.
func TestPlansThatConflict(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, Config{Seed: 1, Servers: 1, NumSchedulers: 8, Costs: Costs{Cores: 8, Scheduler: map[string]SchedulerCosts{"service": {Base: time.Second}}}})
		big := func(id string, mhz int) *rpc.Job {
			j := serviceJob(id, 1, 0)
			j.TaskGroups[0].Resources = rpc.Resources{CPUMHz: mhz, MemoryMB: mhz}
			return j
		}
		r.ok(r.c.RegisterJob(t.Context(), big("filler", 1000)))
		time.Sleep(5 * time.Second)
		r.entries()
		r.ok(r.c.RegisterJob(t.Context(), big("one", 2500))) // both prefer the fuller node
		r.ok(r.c.RegisterJob(t.Context(), big("two", 2500)))
		time.Sleep(10 * time.Second)
		if len(r.live("one")) != 1 || len(r.live("two")) != 1 {
			t.Errorf("%d and %d allocations, want 1 of each", len(r.live("one")), len(r.live("two")))
		}
		r.want("two plans, the second of which was refused once", r.entries(), "2 ApplyPlanResultsRequestType\n2 EvalUpdateRequestType\n2 JobRegisterRequestType\n")
		if n := r.c.Stats().Counters.PlansSubmitted; n != 4 {
			t.Errorf("%d plans submitted, want the filler's and three", n)
		}
	})
}

// TestLongPlansTakeRoundTrips: plans of a follower's worker, and their answers, which say more of each allocation, are streams whose
// sender waits until the other end has read. When the worker hears of the first entry and of the plan's is up to Raft.
func TestLongPlansTakeRoundTrips(t *testing.T) {
	const allocs, latency, raft = 1000, 150 * time.Millisecond, 800 * time.Millisecond
	schedules := func(step int, costs PlanCosts, habits Habits) (took time.Duration) {
		virtualtest.Test(t, func(t *testing.T) {
			r := newRig(t, 3, Config{Seed: 1, Costs: Costs{Plan: costs, ServerLink: Link{Latency: latency}}, Habits: habits})
			r.c.SetNumSchedulers(0)
			r.c.server((r.c.Leader() + step) % 3).SetSchedulers(1)
			time.Sleep(time.Second) // it asks
			r.ok(r.c.RegisterJob(t.Context(), serviceJob("svc", allocs, 0)))
			began := time.Now()
			for time.Sleep(latency); r.c.Stats().Broker.Unacked > 0; time.Sleep(latency) {
			}
			took = time.Since(began)
			if n := len(r.live("svc")); n != allocs {
				t.Errorf("%d allocations, want %d", n, allocs)
			}
		})
		return took
	}
	for _, tt := range []struct {
		what   string
		step   int
		costs  PlanCosts
		habits Habits
		want   time.Duration // round trips
	}{
		{"an answer of 3.1 MB", 1, PlanCosts{PerResult: 1}, Habits{}, 11},
		{"an answer of 4.1 MB", 1, PlanCosts{PerResult: 1}, Habits{SignsByRSA: true}, 15},
		{"a plan of 1 MB", 1, PlanCosts{PerForward: 1}, Habits{}, 3},
		{"both", 1, PlanCosts{PerForward: 1, PerResult: 1}, Habits{}, 14},
		{"the leader's own", 0, PlanCosts{PerForward: 1, PerResult: 1}, Habits{}, 0},
	} {
		more := schedules(tt.step, tt.costs, tt.habits) - schedules(tt.step, PlanCosts{}, tt.habits)
		if want := tt.want * 2 * latency; (more - want).Abs() > raft {
			t.Errorf("%s: %v more, want %d round trips, which are %v", tt.what, more, tt.want, want)
		}
	}
}

// TestBlockingAgainTooLate: an evaluation that a worker would block again after its nack timer fired
// is not blocked again, and the account does not say that it was.
func TestBlockingAgainTooLate(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		slow := map[string]SchedulerCosts{"service": {PerNode: 4 * time.Second}}
		r := newRig(t, 2, Config{Seed: 1, Servers: 1, Eval: EvalConfig{NackTimeout: 10 * time.Second}, Costs: Costs{Cores: 4, Scheduler: slow}})
		big := serviceJob("svc", 3, 0)
		big.TaskGroups[0].Resources.CPUMHz = 3000 // one on a node
		r.ok(r.c.RegisterJob(t.Context(), big))
		time.Sleep(30 * time.Second)
		small := testNode(2)
		small.Resources.CPUMHz = 1000
		r.bringUp(small) // which makes planning take 12 s
		time.Sleep(20 * time.Second)
		r.ok(nil, r.c.PurgeNode(t.Context(), small.ID))
		time.Sleep(time.Minute)
		if b := r.c.Stats(); b.BlockedJobs != 1 || b.Broker.Unacked != 0 || len(r.live("svc")) != 2 {
			t.Errorf("%d jobs wait for room, %d evaluations are out and %d allocations run; want 1, 0 and 2", b.BlockedJobs, b.Broker.Unacked, len(r.live("svc")))
		}
	})
}

// TestCallsOnTheWay: a call that is lost, or comes to a server that has died meanwhile, fails and
// does nothing.
func TestCallsOnTheWay(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, Config{Seed: 1, Costs: Costs{ClientLink: Link{Latency: time.Second}}})
		node := testNode(0)
		calls := map[string]func(server int) error{
			"register": func(i int) error {
				_, err := r.c.NodeServer(i).Register(t.Context(), &rpc.NodeRegisterRequest{Node: node})
				return err
			},
			"allocations": func(i int) error {
				_, err := r.c.NodeServer(i).GetClientAllocs(t.Context(), &rpc.NodeSpecificRequest{NodeID: node.ID}, func(rpc.ClientAllocsCall) {})
				return err
			},
		}
		through := (r.c.Leader() + 1) % 3
		for name, call := range calls {
			r.entries()
			end := r.c.DisturbLinks(LinkFault{From: []string{node.ID}, OneWay: true, Link: Link{Loss: 1}})
			if err := call(through); !errors.Is(err, rpc.ErrUnreachable) {
				t.Errorf("%s, lost: %v", name, err)
			}
			end()
			r.want(name+", lost", r.entries(), "")
		}
		time.AfterFunc(500*time.Millisecond, func() {
			if err := r.c.StopServer(through); err != nil {
				t.Error(err)
			}
		})
		answers := make(chan error, len(calls))
		for _, call := range calls {
			go func() { answers <- call(through) }()
		}
		for range calls {
			if err := <-answers; !errors.Is(err, rpc.ErrUnreachable) {
				t.Errorf("to a server that has died meanwhile: %v", err)
			}
		}
		r.want("calls to a server that has died meanwhile", r.entries(), "")
	})
}

// TestWhatBytesCost: an entry is dispatched once and appended twice, by its size.
func TestWhatBytesCost(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, Config{Seed: 1, Costs: Costs{Cores: 4, Raft: RaftCosts{PerKiB: time.Millisecond}}})
		j := serviceJob("svc", 0, 0)
		j.Definition = make([]byte, 100<<10)
		time.Sleep(time.Second)
		before, _ := r.c.cpuTime()
		r.ok(r.c.RegisterJob(t.Context(), j))
		time.Sleep(time.Second)
		after, _ := r.c.cpuTime()
		if got := after - before; got < 300*time.Millisecond || got > 305*time.Millisecond {
			t.Errorf("an entry of 100 KiB costs %v, want some 300 ms", got)
		}
	})
}

// TestAwayIsNotDown: a node whose job waits for it is disconnected by itself, though a design
// gathers those that go down; a heartbeat of one that is ready writes nothing.
func TestAwayIsNotDown(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, Config{Seed: 1, Heartbeat: HeartbeatConfig{Grace: 10 * time.Second}, Design: DesignConfig{DownWindow: time.Minute}})
		patient := serviceJob("svc", 1, 0)
		patient.TaskGroups[0].MaxClientDisconnect = time.Hour
		r.ok(r.c.RegisterJob(t.Context(), patient))
		time.Sleep(time.Second)
		r.report("svc", false)
		node := r.live("svc")[0].NodeID
		r.entries()
		for n := range r.snap().Nodes() {
			_, err := r.c.NodeServer(0).UpdateStatus(t.Context(), &rpc.NodeUpdateStatusRequest{NodeID: n.ID, Status: rpc.NodeStatusReady})
			r.ok(nil, err)
		}
		time.Sleep(time.Second)
		r.want("heartbeats", r.entries(), "")
		time.Sleep(3 * time.Minute)
		for n := range r.snap().Nodes() {
			if want := map[bool]string{true: rpc.NodeStatusDisconnected, false: rpc.NodeStatusDown}[n.ID == node]; n.Status != want {
				t.Errorf("%s is %s, want %s", n.ID, n.Status, want)
			}
		}
		for e := range r.snap().Evals() {
			if e.Status == broker.StatusFailed {
				t.Errorf("evaluation %+v", e)
			}
		}
	})
}

// TestWhatADiskCosts: an entry waits for the leader's disk, and then for a follower's.
func TestWhatADiskCosts(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, Config{Seed: 1, Costs: Costs{Fsync: 100 * time.Millisecond}})
		began := time.Now()
		r.ok(r.c.RegisterJob(t.Context(), serviceJob("one", 0, 0)))
		if took := time.Since(began); took < 200*time.Millisecond || took > 300*time.Millisecond {
			t.Errorf("an entry took %v, want the time of two disks", took)
		}
	})
}

// TestPoisonedJob: a job that makes schedulers panic takes the worker of no other job; its
// evaluation is given up after three deliveries, and the follow-up places it once it is mended.
func TestPoisonedJob(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 5, Config{Seed: 1})
		r.c.PoisonJob("", "bad", true)
		r.ok(r.c.RegisterJob(t.Context(), serviceJob("bad", 5, 0)))
		r.ok(r.c.RegisterJob(t.Context(), serviceJob("good", 5, 0)))
		time.Sleep(time.Second)
		r.want("the other job", r.entries(), "1 ApplyPlanResultsRequestType\n1 EvalUpdateRequestType\n2 JobRegisterRequestType\n")
		time.Sleep(30 * time.Second)
		r.want("given up, with a follow-up", r.entries(), "1 EvalUpdateRequestType\n")
		if st := r.c.Stats(); st.Counters.EvalsFailed != 1 || st.Broker.Waiting != 1 || len(r.live("bad")) != 0 || len(r.live("good")) != 5 {
			t.Errorf("%d failed, broker %+v, %d and %d allocations", st.Counters.EvalsFailed, st.Broker, len(r.live("bad")), len(r.live("good")))
		}
		r.c.PoisonJob("", "bad", false)
		time.Sleep(7 * time.Minute)
		r.want("the follow-up", r.entries(), "1 ApplyPlanResultsRequestType\n1 EvalUpdateRequestType\n")
		if n := len(r.live("bad")); n != 5 {
			t.Errorf("%d allocations, want 5", n)
		}
	})
}

// TestResumedWorkersAskApart: workers that a leader paused go on when it steps down, all at one instant. If it leads again, each must
// ask at an instant of its own, or who gets the next evaluation is chance.
func TestResumedWorkersAskApart(t *testing.T) {
	again := 0
	for seed := range int64(10) {
		virtualtest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			asked := map[int64]string{}
			c := startCluster(t, Config{Seed: seed, NumSchedulers: 4, CarriedOut: func(_ uint64, method string) {
				mu.Lock()
				defer mu.Unlock()
				if now := time.Now().UnixNano(); strings.HasPrefix(method, "Eval.Dequeue/") {
					if other := asked[now]; other != "" {
						t.Errorf("seed %d: %s and %s at one instant", seed, other, method)
					}
					asked[now] = method
				}
			}})
			leader := c.Leader()
			time.Sleep(time.Minute) // until those are paused that waited for work
			for _, step := range []func(int) error{c.StopServer, c.StartServer} {
				for i := range 3 {
					if i == leader {
						continue
					}
					if err := step(i); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(3 * time.Second)
			}
			time.Sleep(time.Minute)
			if c.Leader() == leader {
				again++
			}
		})
	}
	if again == 0 {
		t.Error("no leader led again")
	}
}
