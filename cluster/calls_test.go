package cluster

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/server"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/scheduler"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestCallsThatAreNotWritten: a call one of whose entries the log does not take fails, and its
// caller hears that.
func TestCallsThatAreNotWritten(t *testing.T) {
	const node, ineligible, draining = "node-00000", "node-00001", "node-00002"
	type leads = *server.Server
	evalOf := func(_ string, err error) error { return err }
	nodeOf := func(_ *rpc.NodeUpdateResponse, err error) error { return err }
	for _, tt := range []struct {
		name  string
		after string // the type of the entry that fills the disk; empty: it is full before
		call  func(leads) error
	}{
		{"register job", "", func(l leads) error { return evalOf(l.RegisterJob(serviceJob("new", 1, 0))) }},
		{"register periodic job", "", func(l leads) error { return evalOf(l.RegisterJob(periodicJob(time.Hour, false))) }},
		{"evaluate job", "", func(l leads) error { return evalOf(l.EvaluateJob("default", "svc")) }},
		{"stop job", "", func(l leads) error { return evalOf(l.StopJob("default", "svc", true)) }},
		{"scale: job", "", func(l leads) error { return evalOf(l.ScaleJob("default", "svc", "", 9)) }},
		{"scale: evaluation", "JobRegisterRequestType", func(l leads) error { return evalOf(l.ScaleJob("default", "svc", "", 9)) }},
		{"scale: event", "EvalUpdateRequestType", func(l leads) error { return evalOf(l.ScaleJob("default", "svc", "", 9)) }},
		{"force a launch", "", func(l leads) error { return evalOf(l.ForcePeriodic("default", "cron")) }},
		{"configure", "", func(l leads) error { return l.SetSchedulerConfig(rpc.SchedulerConfig{PauseEvalBroker: true}) }},
		{"register node", "", func(l leads) error { return nodeOf(l.RegisterNode(&rpc.NodeRegisterRequest{Node: testNode(7)})) }},
		{"register changed node: evaluations", "NodeRegisterRequestType", func(l leads) error {
			n := testNode(0)
			n.NodeClass = "other"
			return nodeOf(l.RegisterNode(&rpc.NodeRegisterRequest{Node: n}))
		}},
		{"status", "", func(l leads) error {
			return nodeOf(l.UpdateNodeStatus(&rpc.NodeUpdateStatusRequest{NodeID: node, Status: rpc.NodeStatusInit}))
		}},
		{"status: evaluations", "NodeUpdateStatusRequestType", func(l leads) error {
			return nodeOf(l.UpdateNodeStatus(&rpc.NodeUpdateStatusRequest{NodeID: node, Status: rpc.NodeStatusDown}))
		}},
		{"report", "", func(l leads) error {
			_, err := l.UpdateAllocs(l, &rpc.AllocUpdateRequest{NodeID: node, Alloc: []*rpc.Allocation{{ID: "a"}}})
			return err
		}},
		{"ineligible", "", func(l leads) error { return l.SetEligibility(node, false) }},
		{"eligible", "", func(l leads) error { return l.SetEligibility(ineligible, true) }},
		{"eligible: evaluations", "NodeUpdateEligibilityRequestType", func(l leads) error { return l.SetEligibility(ineligible, true) }},
		{"drain", "", func(l leads) error { return l.UpdateDrain(node, &rpc.DrainStrategy{}, false, nil) }},
		{"end of a drain", "", func(l leads) error { return l.UpdateDrain(draining, nil, true, nil) }},
		{"end of a drain: evaluations", "NodeUpdateDrainRequestType", func(l leads) error { return l.UpdateDrain(draining, nil, true, nil) }},
		{"evaluate node", "", func(l leads) error { return l.EvaluateNode(node) }},
		{"forget nodes", "", func(l leads) error { return l.DeregisterNodes([]string{node}) }},
		{"forget nodes: evaluations", "NodeBatchDeregisterRequestType", func(l leads) error { return l.DeregisterNodes([]string{node}) }},
		{"events", "", func(l leads) error {
			return l.EmitEvents(fsm.NodeEvents{NodeID: node, Events: make([]state.NodeEvent, 1)})
		}},
	} {
		virtualtest.Test(t, func(t *testing.T) {
			var r *rig
			armed := false
			r = newRig(t, 3, Config{Seed: 1, Servers: 1, Follow: func(a Applied) {
				if armed && a.Type == tt.after {
					r.c.FillDisk(0, true)
				}
			}})
			r.fails = allTypes
			r.ok(r.c.RegisterJob(t.Context(), systemJob("sys")))
			r.ok(r.c.RegisterJob(t.Context(), serviceJob("svc", 3, 0)))
			r.ok(r.c.RegisterJob(t.Context(), periodicJob(1000*time.Hour, false)))
			r.ok(nil, r.c.SetEligibility(t.Context(), ineligible, false))
			r.ok(nil, r.c.DrainNode(t.Context(), draining, &rpc.DrainStrategy{Deadline: time.Hour}, false))
			time.Sleep(time.Second)
			r.c.SetNumSchedulers(0)
			armed = true
			if tt.after == "" {
				r.c.FillDisk(0, true)
			}
			if err := tt.call(r.c.leader()); !errors.Is(err, rpc.ErrNoLeader) {
				t.Errorf("%s, with no room for what follows %q: error %v, want %v", tt.name, tt.after, err, rpc.ErrNoLeader)
			}
			r.c.FillDisk(0, false)
		})
	}
}

// TestCallsThatAreRefused: a call that makes no sense is refused with a reason, and writes nothing.
func TestCallsThatAreRefused(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, Config{Seed: 1})
		r.ok(r.c.RegisterJob(t.Context(), systemJob("sys")))
		r.ok(r.c.RegisterJob(t.Context(), serviceJob("svc", 1, 0)))
		r.ok(r.c.RegisterJob(t.Context(), periodicJob(1000*time.Hour, false)))
		bare := serviceJob("bare", 1, 0)
		bare.TaskGroups = nil
		r.ok(r.c.RegisterJob(t.Context(), bare))
		time.Sleep(time.Second)
		r.entries()
		l := r.c.leader()
		nodeWithout := func(f func(*rpc.Node)) error {
			n := testNode(7)
			f(n)
			_, err := r.c.NodeServer(0).Register(t.Context(), &rpc.NodeRegisterRequest{Node: n})
			return err
		}
		evalOf := func(_ string, err error) error { return err }
		update := func(node string, allocs ...*rpc.Allocation) error {
			_, err := r.c.NodeServer(0).UpdateAlloc(t.Context(), &rpc.AllocUpdateRequest{NodeID: node, Alloc: allocs})
			return err
		}
		_, nobody := r.c.NodeServer(0).Register(t.Context(), &rpc.NodeRegisterRequest{})
		_, unknown := r.c.NodeServer(0).UpdateStatus(t.Context(), &rpc.NodeUpdateStatusRequest{NodeID: "who", Status: rpc.NodeStatusReady})
		stranger := testNode(0)
		stranger.SecretID = "guessed"
		_, secret := r.c.NodeServer(0).Register(t.Context(), &rpc.NodeRegisterRequest{Node: stranger})
		for _, tt := range []struct {
			what string
			err  error
			want string
		}{
			{"no node", nobody, "missing node"},
			{"no ID", nodeWithout(func(n *rpc.Node) { n.ID = "" }), "needs an ID"},
			{"no secret", nodeWithout(func(n *rpc.Node) { n.SecretID = "" }), "needs an ID"},
			{"no name", nodeWithout(func(n *rpc.Node) { n.Name = "" }), "needs an ID"},
			{"no datacenter", nodeWithout(func(n *rpc.Node) { n.Datacenter = "" }), "needs an ID"},
			{"no attributes", nodeWithout(func(n *rpc.Node) { n.Attributes = nil }), "one attribute"},
			{"wrong secret", secret, "secret ID"},
			{"status of nobody", unknown, "not found"},
			{"report of nothing", update("node-00000"), "at least one"},
			{"report of nobody", update("who", &rpc.Allocation{ID: "a"}), "not found"},
			{"evaluate periodic", evalOf(l.EvaluateJob("default", "cron")), "periodic"},
			{"evaluate nobody's", evalOf(l.EvaluateJob("default", "who")), `job "who"`},
			{"scale nobody's", evalOf(l.ScaleJob("default", "who", "", 1)), `job "who"`},
			{"scale periodic", evalOf(l.ScaleJob("default", "cron", "", 1)), "periodic"},
			{"scale a system job", evalOf(l.ScaleJob("default", "sys", "", 1)), "has no count"},
			{"scale a job without groups", evalOf(l.ScaleJob("default", "bare", "", 1)), `no task group ""`},
			{"scale no group", evalOf(l.ScaleJob("default", "svc", "other", 1)), `no task group "other"`},
			{"force what is not periodic", evalOf(l.ForcePeriodic("default", "svc")), "not an active periodic job"},
			{"force nobody's", evalOf(l.ForcePeriodic("default", "who")), `job "who"`},
			{"eligibility of nobody", l.SetEligibility("who", true), "node who"},
			{"drain of nobody", l.UpdateDrain("who", nil, true, nil), "node who"},
			{"evaluate nobody", l.EvaluateNode("who"), "node who"},
			{"forget nobody", l.DeregisterNodes([]string{"node-00000", "who"}), "node who"},
		} {
			if tt.err == nil || !strings.Contains(tt.err.Error(), tt.want) {
				t.Errorf("%s: error %v, want one with %q", tt.what, tt.err, tt.want)
			}
		}
		r.want("entries of calls that were refused", r.entries(), "")
		r.ok(l.ScaleJob("default", "svc", "tg", 2))

		follower := r.c.server((l.ID() + 1) % 3)
		status := &rpc.NodeUpdateStatusRequest{NodeID: testNode(0).ID, Status: rpc.NodeStatusReady}
		if _, err := follower.UpdateNodeStatus(status); !errors.Is(err, rpc.ErrNoLeader) {
			t.Errorf("a heartbeat to a server that does not lead: %v", err)
		}
		began := time.Now()
		plan := &scheduler.Plan{SnapshotIndex: 1 << 40}
		if _, err := l.ApplyPlan(t.Context(), plan); err == nil || time.Since(began) != 10*time.Second {
			t.Errorf("a plan on a state that nobody has: %v after %v", err, time.Since(began))
		}
	})
}

// TestOperatorsAndNodes: what operators' calls write, in the log and on the node.
func TestOperatorsAndNodes(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := drainRig(t, 3)
		const node = "node-00001"
		events := func() string {
			var all []string
			for _, e := range r.snap().NodeEvents(node)[1:] {
				all = append(all, e.Message)
			}
			return strings.Join(all, "; ")
		}
		before := events()
		now := time.Now().Truncate(time.Second)
		r.ok(nil, r.c.SetEligibility(t.Context(), node, false))
		r.ok(nil, r.c.DrainNode(t.Context(), node, &rpc.DrainStrategy{Deadline: time.Hour}, false))
		if d := r.snap().NodeByID(node).Drain; d.ForceDeadline < now.Add(time.Hour).UnixNano() || d.ForceDeadline > now.Add(time.Hour+time.Minute).UnixNano() {
			t.Errorf("a drain of an hour is forced at %v", time.Unix(0, d.ForceDeadline))
		}
		r.ok(nil, r.c.DrainNode(t.Context(), node, &rpc.DrainStrategy{Deadline: -1}, false))
		if d := r.snap().NodeByID(node).Drain; d.ForceDeadline != 0 {
			t.Errorf("a drain that is forced at once has the deadline %v", time.Unix(0, d.ForceDeadline))
		}
		r.entries()
		r.ok(nil, r.c.DrainNode(t.Context(), node, nil, false))
		r.want("end of a drain", r.entries(), "1 NodeUpdateDrainRequestType\n")
		time.Sleep(time.Minute)
		r.entries()
		r.ok(nil, r.c.SetEligibility(t.Context(), node, true))
		time.Sleep(time.Minute)
		r.want("eligible", r.entries(), "3 EvalUpdateRequestType\n1 NodeUpdateEligibilityRequestType\n")
		r.ok(nil, r.c.EvaluateNode(t.Context(), node))
		time.Sleep(time.Minute)
		r.want("evaluate node", r.entries(), "3 EvalUpdateRequestType\n")
		r.want("events", strings.TrimPrefix(events(), before+"; "), strings.Join([]string{
			"Node marked as ineligible for scheduling", "Node drain strategy set", "Node drain strategy updated", "Node drain disabled",
			"Node marked as eligible for scheduling",
		}, "; "))
		r.ok(r.c.EvaluateJob(t.Context(), "", "svc"))
		time.Sleep(time.Minute)
		r.want("evaluate job", r.entries(), "2 EvalUpdateRequestType\n")
		r.ok(nil, r.c.PurgeNode(t.Context(), node))
		time.Sleep(time.Minute)
		r.want("purge node", r.entries(), "2 ApplyPlanResultsRequestType\n3 EvalUpdateRequestType\n1 NodeBatchDeregisterRequestType\n")
		if beats, _, _ := r.c.leader().Queues(); beats != 3 {
			t.Errorf("the leader waits for %d nodes after one of four was purged", beats)
		}
	})
}

// TestRegistersAgain: a node that registers for the second time is as new to servers up to
// 1.4.4; to later ones it is what it was. Its jobs are looked at if what it offers has changed.
func TestRegistersAgain(t *testing.T) {
	for release, want := range map[Version]string{{1, 4, 4}: rpc.NodeStatusInit, {1, 4, 5}: rpc.NodeStatusReady} {
		virtualtest.Test(t, func(t *testing.T) {
			r := newRig(t, 1, Config{Seed: 1, Habits: HabitsOf(release)})
			r.ok(r.c.RegisterJob(t.Context(), systemJob("sys")))
			time.Sleep(time.Second)
			r.entries()
			again := func(change func(*rpc.Node)) string {
				n := testNode(0)
				change(n)
				resp, err := r.c.NodeServer(0).Register(t.Context(), &rpc.NodeRegisterRequest{Node: n})
				r.ok(nil, err)
				if down := n.Status == rpc.NodeStatusDown && want == rpc.NodeStatusInit; down != (resp.HeartbeatTTL == 0) {
					t.Errorf("%v: a node that is %q has a time to live of %v", release, n.Status, resp.HeartbeatTTL)
				}
				time.Sleep(time.Second)
				return r.entries()
			}
			r.want("as it was", again(func(*rpc.Node) {}), "1 NodeRegisterRequestType\n")
			if n := r.snap().NodeByID(testNode(0).ID); n.Status != want || n.StatusUpdatedAt < time.Now().Add(-time.Minute).Unix() || n.SchedulingEligibility != rpc.NodeEligible {
				t.Errorf("%v: the node is %s since %v, %s; want %s", release, n.Status, time.Unix(n.StatusUpdatedAt, 0), n.SchedulingEligibility, want)
			}
			const evaluated = "2 EvalUpdateRequestType\n1 NodeRegisterRequestType\n"
			r.want("of another class", again(func(n *rpc.Node) { n.NodeClass = "c" }), evaluated)
			r.want("of another name", again(func(n *rpc.Node) { n.NodeClass, n.Name = "c", "n" }), evaluated)
			r.want("with other attributes", again(func(n *rpc.Node) { n.NodeClass, n.Name, n.Attributes = "c", "n", map[string]string{"os": "x"} }), evaluated)
			if want == rpc.NodeStatusInit {
				r.want("down", again(func(n *rpc.Node) {
					n.NodeClass, n.Name, n.Attributes = "c", "n", map[string]string{"os": "x"}
					n.Status = rpc.NodeStatusDown
				}), "1 ApplyPlanResultsRequestType\n2 EvalUpdateRequestType\n1 NodeRegisterRequestType\n")
			}
		})
	}
}

// TestSilentNodes: one that is not heard from goes down with an event that says why, and comes
// back with another; none does once they are held.
func TestSilentNodes(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, Config{Seed: 1, Heartbeat: HeartbeatConfig{Grace: 10 * time.Second}})
		node := testNode(1).ID
		time.Sleep(time.Minute)
		if n := r.c.Stats(); n.NodesByStatus[rpc.NodeStatusDown] != 2 || n.Counters.MissedHeartbeats != 2 || n.HeartbeatsActive != 0 {
			t.Errorf("after a minute of silence: %+v", n)
		}
		resp, err := r.c.NodeServer(0).UpdateStatus(t.Context(), &rpc.NodeUpdateStatusRequest{NodeID: node, Status: rpc.NodeStatusReady})
		if err != nil || resp.HeartbeatTTL == 0 || resp.Index == 0 {
			t.Errorf("heartbeat of a node that was down: %+v, %v", resp, err)
		}
		var events []string
		for _, e := range r.snap().NodeEvents(node)[1:] {
			events = append(events, e.Message)
		}
		r.want("events", fmt.Sprint(events), "[Node heartbeat missed Node reregistered by heartbeat]")
		if n := r.snap().NodeByID(node); n.StatusUpdatedAt != time.Now().Unix() {
			t.Errorf("the node is ready since %v", time.Unix(n.StatusUpdatedAt, 0))
		}
		counted := map[string]int64{}
		for _, e := range r.c.Stats().Account.Since(Account{}) {
			counted[e.Event] += e.Entries
		}
		if missed, heard := counted["nodes whose time to live ran out"], counted["heartbeats of nodes that were not ready"]; missed != 2 || heard != 3 {
			t.Errorf("the account has %d nodes missed and %d heard, want 2 and 3", missed, heard)
		}
		r.c.HoldNodes()
		time.Sleep(5 * time.Minute)
		if n := r.c.Stats(); n.NodesByStatus[rpc.NodeStatusReady] != 1 || n.Counters.MissedHeartbeats != 2 {
			t.Errorf("after five minutes of silence while nodes are held: %+v", n)
		}
	})
}
