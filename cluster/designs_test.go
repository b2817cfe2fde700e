package cluster

import (
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestUpdatesShareEntries: what workers write about evaluations within a window is one entry.
func TestUpdatesShareEntries(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, Config{Seed: 1, Servers: 1, NumSchedulers: 4, Design: DesignConfig{UpdateWindow: time.Second}})
		r.ok(nil, r.c.PauseEvalBroker(t.Context(), true))
		for _, id := range []string{"a", "b", "c", "d"} {
			r.ok(r.c.RegisterJob(t.Context(), systemJob(id)))
		}
		r.c.SetNumSchedulers(1)
		r.ok(nil, r.c.PauseEvalBroker(t.Context(), false))
		time.Sleep(10 * time.Second)
		r.entries()
		r.c.SetNumSchedulers(16) // four of which work on the leader
		time.Sleep(time.Second)
		register(t, r.c, 3, 4)
		time.Sleep(10 * time.Second)
		r.want("a node for four jobs", r.entries(),
			"4 ApplyPlanResultsRequestType\n2 EvalUpdateRequestType\n1 NodeRegisterRequestType\n1 NodeUpdateStatusRequestType\n")
		for _, id := range []string{"a", "b", "c", "d"} {
			for _, e := range r.snap().EvalsByJob(broker.JobID{Namespace: rpc.DefaultNamespace, ID: id}) {
				if e.Status != broker.StatusComplete {
					t.Errorf("evaluation of %s is %s", id, e.Status)
				}
			}
		}
	})
}

// TestSilentNodesShareAnEntry: nodes that fall silent within a window are one entry, which has one
// evaluation of each job that ran on any of them.
func TestSilentNodesShareAnEntry(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, Config{Seed: 1, Heartbeat: HeartbeatConfig{Grace: 10 * time.Second}, Design: DesignConfig{DownWindow: time.Minute}})
		r.ok(r.c.RegisterJob(t.Context(), systemJob("sys")))
		r.ok(r.c.RegisterJob(t.Context(), serviceJob("svc", 3, 0)))
		time.Sleep(time.Second)
		r.report("sys", false)
		r.entries()
		time.Sleep(30 * time.Second)
		r.ok(nil, r.c.PurgeNode(t.Context(), "node-00002")) // its entry is on the way
		time.Sleep(time.Second)
		r.want("within the window", r.entries(), "2 ApplyPlanResultsRequestType\n3 EvalUpdateRequestType\n1 NodeBatchDeregisterRequestType\n")
		silent := time.Now()
		time.Sleep(2 * time.Minute)
		r.want("after it", r.entries(), "2 ApplyPlanResultsRequestType\n3 EvalUpdateRequestType\n1 NodesDownRequestType\n")
		st := r.c.Stats()
		if st.NodesByStatus[rpc.NodeStatusDown] != 2 || st.Counters.NodesDown != 2 || st.Counters.MissedHeartbeats != 3 {
			t.Errorf("%v, %+v; want 2 of 3 that were missed to be down", st.NodesByStatus, st.Counters)
		}
		for n := range r.snap().Nodes() {
			if at := time.Unix(n.StatusUpdatedAt, 0); at.After(silent) || at.Before(silent.Add(-time.Minute)) {
				t.Errorf("%s is down since %v, want since it fell silent", n.ID, at)
			}
		}
	})
}

// TestAllJobsOfASilentNode: the entry of a single node has an evaluation of each of its jobs.
func TestAllJobsOfASilentNode(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 1, Config{Seed: 1, Heartbeat: HeartbeatConfig{Grace: 10 * time.Second}, Design: DesignConfig{DownWindow: time.Minute}})
		jobs := []string{"a", "b", "c"}
		for _, id := range jobs {
			r.ok(r.c.RegisterJob(t.Context(), serviceJob(id, 1, 0)))
		}
		time.Sleep(3 * time.Minute)
		for _, id := range jobs {
			n := 0
			for _, e := range r.snap().EvalsByJob(broker.JobID{Namespace: rpc.DefaultNamespace, ID: id}) {
				if e.TriggeredBy == broker.TriggeredByNodeUpdate {
					n++
				}
			}
			if n != 1 || len(r.live(id)) != 0 {
				t.Errorf("job %s has %d evaluations for its node, and %d allocations live", id, n, len(r.live(id)))
			}
		}
	})
}

// TestEvaluationsThatDesignsSpare: of system jobs for nodes that go down, and of jobs that are
// looked at soon in any case.
func TestEvaluationsThatDesignsSpare(t *testing.T) {
	for _, tt := range []struct {
		name     string
		design   DesignConfig
		backlog  bool
		down, up uint64 // evaluations created
	}{
		{"none", DesignConfig{}, false, 2, 2},
		{"none, with a backlog", DesignConfig{}, true, 2, 2},
		{"of system jobs", DesignConfig{DownSkipsSystem: true}, false, 1, 2},
		{"of system jobs, with a backlog", DesignConfig{DownSkipsSystem: true}, true, 1, 2},
		{"of queued jobs, without a backlog", DesignConfig{SkipQueued: true}, false, 2, 2},
		{"of queued jobs", DesignConfig{SkipQueued: true}, true, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			virtualtest.Test(t, func(t *testing.T) {
				r := newRig(t, 1, Config{Seed: 1, Design: tt.design})
				r.ok(r.c.RegisterJob(t.Context(), systemJob("sys")))
				r.ok(r.c.RegisterJob(t.Context(), serviceJob("svc", 1, 0)))
				time.Sleep(time.Second)
				if tt.backlog {
					r.c.SetNumSchedulers(0)
					r.ok(r.c.EvaluateJob(t.Context(), "", "sys"))
					r.ok(r.c.EvaluateJob(t.Context(), "", "svc"))
				}
				for _, change := range []struct {
					status string
					evals  uint64
				}{{rpc.NodeStatusDown, tt.down}, {rpc.NodeStatusReady, tt.up}} {
					ofNodes := func() (n uint64) {
						for e := range r.snap().Evals() {
							if e.TriggeredBy == broker.TriggeredByNodeUpdate {
								n++
							}
						}
						return n
					}
					before := ofNodes()
					_, err := r.c.NodeServer(0).UpdateStatus(t.Context(), &rpc.NodeUpdateStatusRequest{NodeID: testNode(0).ID, Status: change.status})
					r.ok(nil, err)
					time.Sleep(time.Second)
					if got := ofNodes() - before; got != change.evals {
						t.Errorf("%s: %d evaluations, want %d", change.status, got, change.evals)
					}
				}
				r.c.SetNumSchedulers(2)
			})
		})
	}
}

// TestSkippedEvaluationsAreMissed is the counterexample to SkipQueued: a worker of a server that lags
// behind takes the evaluation for which another was skipped, and does not see the node that this was
// for. It waits for the evaluation that it takes, which is older than the node. NewestState mends that.
func TestSkippedEvaluationsAreMissed(t *testing.T) {
	for _, tt := range []struct {
		design DesignConfig
		want   int // allocations on two nodes
	}{{DesignConfig{}, 2}, {DesignConfig{SkipQueued: true}, 1}, {DesignConfig{SkipQueued: true, NewestState: true}, 2}} {
		virtualtest.Test(t, func(t *testing.T) {
			r := newRig(t, 1, Config{Seed: 1, NumSchedulers: 1, Design: tt.design})
			r.ok(r.c.RegisterJob(t.Context(), systemJob("sys")))
			time.Sleep(time.Second)
			r.c.SetNumSchedulers(0)
			r.ok(r.c.EvaluateJob(t.Context(), "", "sys")) // queued from now on
			time.Sleep(time.Second)
			leader := r.c.Leader()
			for i := range 3 {
				if i != leader {
					r.c.SlowApply(i, 5*time.Second)
				}
			}
			register(t, r.c, 1, 2)
			for i := range 3 {
				if i != leader {
					r.c.server(i).SetSchedulers(1)
				}
			}
			time.Sleep(time.Minute)
			if n := len(r.live("sys")); n != tt.want {
				t.Errorf("%+v: %d allocations on 2 nodes, want %d", tt.design, n, tt.want)
			}
		})
	}
}

// reachable are clients that servers can ask.
type reachable map[string]bool

func (r reachable) Reach(nodeID string) (int, bool) { return 1, r[nodeID] }

// TestClientsAreAsked: of two nodes that were not heard from, the one whose client answers stays, and
// is asked again each time; the other is down, a little later than without the question.
func TestClientsAreAsked(t *testing.T) {
	for _, tt := range []struct {
		design DesignConfig
		cut    bool // nobody is reached
		down   int
	}{{DesignConfig{}, false, 2}, {DesignConfig{AskTimeout: 5 * time.Second}, false, 1}, {DesignConfig{AskTimeout: 5 * time.Second}, true, 2}} {
		virtualtest.Test(t, func(t *testing.T) {
			r := newRig(t, 2, Config{Seed: 1, Heartbeat: HeartbeatConfig{Grace: 10 * time.Second}, Design: tt.design})
			r.c.SetClients(reachable{testNode(0).ID: true})
			if tt.cut {
				defer r.c.DisturbLinks(LinkFault{From: []string{testNode(0).ID}, Link: Link{Loss: 1}})()
			}
			time.Sleep(5 * time.Minute)
			st := r.c.Stats()
			missed := uint64(2)
			if tt.down == 1 {
				missed = st.Counters.MissedHeartbeats
			}
			if st.NodesByStatus[rpc.NodeStatusDown] != tt.down || st.Counters.MissedHeartbeats != missed || tt.down == 1 && missed < 9 {
				t.Errorf("%+v: %v, %d missed; want %d down", tt, st.NodesByStatus, st.Counters.MissedHeartbeats, tt.down)
			}
		})
	}
}
