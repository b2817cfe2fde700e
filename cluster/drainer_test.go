package cluster

import (
	"errors"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

// drainRig is a rig of four nodes with a service of eight and a system job, all running.
func drainRig(t *testing.T, servers int) *rig {
	r := newRig(t, 4, Config{Seed: 1, Servers: servers})
	r.ok(r.c.RegisterJob(t.Context(), serviceJob("svc", 8, 0)))
	r.ok(r.c.RegisterJob(t.Context(), systemJob("sys")))
	time.Sleep(time.Second)
	r.report("svc", true)
	r.report("sys", false)
	r.entries()
	return r
}

func (r *rig) on(node, jobType string) int {
	n := 0
	for _, a := range r.snap().NodeAllocs(node).Live {
		if a.JobType == jobType {
			n++
		}
	}
	return n
}

// TestDrainNode: a node's service allocations leave one after the other, each when the
// replacement of the one before is healthy; then the system job stops, and the drain ends.
func TestDrainNode(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := drainRig(t, 3)
		node := "node-00001"
		left := r.on(node, rpc.JobTypeService)
		if left < 2 {
			t.Fatalf("node has %d service allocations, want some to drain", left)
		}
		r.ok(nil, r.c.DrainNode(t.Context(), node, &rpc.DrainStrategy{}, false))
		r.want("drain", r.entries(), "1 NodeUpdateDrainRequestType\n")
		const move = "1 AllocUpdateDesiredTransitionRequestType\n1 ApplyPlanResultsRequestType\n1 EvalUpdateRequestType\n"
		for ; left > 1; left-- {
			time.Sleep(time.Minute)
			r.want("the first, or the next after that", r.entries(), move)
			if n := r.on(node, rpc.JobTypeService); n != left-1 {
				t.Fatalf("%d are left, want %d", n, left-1)
			}
			r.report("svc", false) // they run, which is not enough
			time.Sleep(time.Minute)
			r.want("clients", r.entries(), "1 AllocClientUpdateRequestType\n")
			r.report("svc", true)
			r.want("clients", r.entries(), "1 AllocClientUpdateRequestType\n")
		}
		time.Sleep(time.Minute)
		r.want("the last", r.entries(),
			"2 AllocUpdateDesiredTransitionRequestType\n2 ApplyPlanResultsRequestType\n1 BatchNodeUpdateDrainRequestType\n2 EvalUpdateRequestType\n")
		n := r.snap().NodeByID(node)
		if n.Drain != nil || n.SchedulingEligibility != rpc.NodeIneligible || len(r.snap().NodeAllocs(node).Live) > 0 {
			t.Errorf("drained node %+v with %d allocations", n, len(r.snap().NodeAllocs(node).Live))
		}
		if len(r.live("svc")) != 8 {
			t.Errorf("%d allocations, want 8", len(r.live("svc")))
		}
	})
}

// TestDrainAwaitsClients: newer releases end a drain when clients have stopped what was to leave, older ones when a plan has.
func TestDrainAwaitsClients(t *testing.T) {
	for _, awaits := range []bool{false, true} {
		virtualtest.Test(t, func(t *testing.T) {
			r := newRig(t, 2, Config{Seed: 1, Habits: Habits{DrainsAwaitClients: awaits}})
			r.ok(r.c.RegisterJob(t.Context(), serviceJob("svc", 1, 0)))
			time.Sleep(time.Second)
			r.report("svc", true)
			node := r.live("svc")[0].NodeID
			r.ok(nil, r.c.DrainNode(t.Context(), node, &rpc.DrainStrategy{}, false))
			time.Sleep(time.Minute)
			if n := r.on(node, rpc.JobTypeService); n != 0 {
				t.Fatalf("%d are to stay on the node", n)
			}
			if drains := r.snap().NodeByID(node).Drain != nil; drains != awaits {
				t.Errorf("awaits clients %v, and before they have stopped it the node drains: %v", awaits, drains)
			}
			r.report("svc", false)
			time.Sleep(time.Second)
			if r.snap().NodeByID(node).Drain != nil {
				t.Errorf("awaits clients %v, and when they have stopped it the node still drains", awaits)
			}
		})
	}
}

// TestDrainDeadline: at the deadline all that is left is moved at once.
func TestDrainDeadline(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := drainRig(t, 3)
		node := "node-00001"
		left := r.on(node, rpc.JobTypeService)
		r.ok(nil, r.c.DrainNode(t.Context(), node, &rpc.DrainStrategy{Deadline: 5 * time.Minute, IgnoreSystemJobs: true}, false))
		time.Sleep(4 * time.Minute)
		if n := r.on(node, rpc.JobTypeService); n != left-1 {
			t.Fatalf("%d are left before the deadline, want %d: no replacement runs", n, left-1)
		}
		r.entries()
		time.Sleep(2 * time.Minute)
		r.want("at the deadline", r.entries(),
			"1 AllocUpdateDesiredTransitionRequestType\n1 ApplyPlanResultsRequestType\n1 BatchNodeUpdateDrainRequestType\n1 EvalUpdateRequestType\n")
		if r.on(node, rpc.JobTypeService) != 0 || r.on(node, rpc.JobTypeSystem) != 1 {
			t.Errorf("%d service and %d system allocations are left, want 0 and 1", r.on(node, rpc.JobTypeService), r.on(node, rpc.JobTypeSystem))
		}
	})
}

// TestDrainsThatAreDoneAtOnce: nodes that run nothing but system jobs when they begin to drain are done one after the
// other, each with entries of its own.
func TestDrainsThatAreDoneAtOnce(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 4, Config{Seed: 1, Policy: broker.Shedding()})
		r.ok(r.c.RegisterJob(t.Context(), systemJob("sys")))
		time.Sleep(time.Second)
		r.report("sys", false)
		r.entries()
		before := r.c.Stats().Counters.EvalsCreated
		errs := make(chan error)
		for _, node := range []string{"node-00000", "node-00001", "node-00002"} {
			go func() { errs <- r.c.DrainNode(t.Context(), node, &rpc.DrainStrategy{Deadline: time.Hour}, false) }()
		}
		for range 3 {
			r.ok(nil, <-errs)
		}
		time.Sleep(10 * time.Second)
		wrote := r.c.EntriesBetween(r.mark, r.c.Stats().LastIndex)
		if n, m, e := wrote["AllocUpdateDesiredTransitionRequestType"], wrote["BatchNodeUpdateDrainRequestType"], r.c.Stats().Counters.EvalsCreated-before; n != 3 || m != 3 || e != 3 {
			t.Errorf("%d requests to leave, %d ends of drains and %d evaluations, want three of each", n, m, e)
		}
	})
}

// TestDeadlinesThatAreNear: nodes whose deadlines are within five seconds are forced together, at the last of these. Before, nothing
// leaves them, for nobody says that anything is healthy.
func TestDeadlinesThatAreNear(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 4, Config{Seed: 1})
		r.ok(r.c.RegisterJob(t.Context(), serviceJob("svc", 40, 0))) // some on each node, wherever schedulers begin
		time.Sleep(time.Second)
		for i, node := range []string{"node-00001", "node-00002", "node-00003"} {
			deadline := 10*time.Second + time.Duration(i)*4*time.Second
			r.ok(nil, r.c.DrainNode(t.Context(), node, &rpc.DrainStrategy{Deadline: deadline}, false))
		}
		r.entries()
		drains := func(after time.Duration, want int) {
			t.Helper()
			time.Sleep(after)
			n := 0
			for node := range r.snap().Nodes() {
				if node.Drain != nil {
					n++
				}
			}
			if n != want {
				t.Errorf("%v later %d nodes drain, want %d", after, n, want)
			}
		}
		drains(13*time.Second, 3)
		drains(3*time.Second, 1) // a second later than the deadline, for requests are gathered
		drains(4*time.Second, 0)
		if n := r.c.EntriesBetween(r.mark, r.c.Stats().LastIndex)["BatchNodeUpdateDrainRequestType"]; n != 2 {
			t.Errorf("%d entries end the drains, want 2", n)
		}
	})
}

// TestDrainsWithAndWithoutDeadline: a node that may take as long as it likes keeps nobody from
// looking at the deadline of another.
func TestDrainsWithAndWithoutDeadline(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := drainRig(t, 3)
		r.ok(nil, r.c.DrainNode(t.Context(), "node-00001", &rpc.DrainStrategy{Deadline: 5 * time.Minute}, false))
		for _, node := range []string{"node-00000", "node-00002"} {
			r.ok(nil, r.c.DrainNode(t.Context(), node, &rpc.DrainStrategy{}, false))
		}
		time.Sleep(6 * time.Minute)
		if n := r.snap().NodeByID("node-00001"); n.Drain != nil || r.on(n.ID, rpc.JobTypeService) != 0 {
			t.Errorf("%+v with %d allocations after its deadline", n, r.on(n.ID, rpc.JobTypeService))
		}
		if r.snap().NodeByID("node-00000").Drain == nil && r.snap().NodeByID("node-00002").Drain == nil {
			t.Error("those without a deadline have drained, though no replacement runs")
		}
	})
}

// TestDrainSurvivesFailover: the next leader goes on with it.
func TestDrainSurvivesFailover(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := drainRig(t, 3)
		r.ok(nil, r.c.DrainNode(t.Context(), "node-00001", &rpc.DrainStrategy{Deadline: -1}, false))
		r.fails = allTypes
		r.ok(nil, r.c.StopServer(r.c.Leader()))
		time.Sleep(time.Minute)
		if n := len(r.snap().NodeAllocs("node-00001").Live); n != 0 || len(r.live("svc")) != 8 {
			t.Errorf("%d allocations left on the node, %d of the service live", n, len(r.live("svc")))
		}
	})
}

// TestEndOfADrainWakes: since Nomad 1.11.2 who waits for room is told of a node whose drain a user
// ends. Before, it waits on until there is room elsewhere.
func TestEndOfADrainWakes(t *testing.T) {
	for _, wakes := range []bool{false, true} {
		virtualtest.Test(t, func(t *testing.T) {
			r := newRig(t, 2, Config{Seed: 1, Habits: Habits{DrainEndWakes: wakes}})
			const node = "node-00001"
			r.ok(nil, r.c.DrainNode(t.Context(), node, &rpc.DrainStrategy{Deadline: -1}, false))
			time.Sleep(10 * time.Second)
			big := serviceJob("svc", 4, 0)
			big.TaskGroups[0].Resources.CPUMHz = 3000 // one on a node
			r.ok(r.c.RegisterJob(t.Context(), big))
			time.Sleep(time.Second)
			ends := func(eligible bool, live, untold int) {
				t.Helper()
				r.ok(nil, r.c.DrainNode(t.Context(), node, nil, eligible))
				time.Sleep(time.Second)
				if n, w := len(r.live("svc")), r.c.Waiting(); n != live || len(w.Untold) != untold || untold > 0 && w.Untold[node] == 0 {
					t.Errorf("drain ended, eligible %v, wakes %v: %d run, and nobody was told of %v", eligible, wakes, n, w.Untold)
				}
			}
			ends(false, 1, 0)
			if wakes {
				ends(true, 2, 0)
			} else {
				ends(true, 1, 1)
			}
			ends(true, len(r.live("svc")), len(r.c.Waiting().Untold)) // it was eligible
			r.bringUp(testNode(2))
			time.Sleep(time.Second)
			if n, w := len(r.live("svc")), r.c.Waiting(); n != 3 || len(w.Untold) > 0 {
				t.Errorf("with room elsewhere: %d run, and nobody was told of %v", n, w.Untold)
			}
		})
	}
}

// TestEligibility: becoming ineligible costs an entry; becoming eligible again makes
// evaluations as becoming ready does.
func TestEligibility(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := drainRig(t, 3)
		const node = "node-00002"
		r.ok(nil, r.c.SetEligibility(t.Context(), node, false))
		time.Sleep(time.Second)
		r.want("ineligible", r.entries(), "1 NodeUpdateEligibilityRequestType\n")
		r.ok(nil, r.c.SetEligibility(t.Context(), node, false))
		r.want("as it is", r.entries(), "")
		r.ok(nil, r.c.SetEligibility(t.Context(), node, true))
		time.Sleep(time.Second)
		// One entry creates the evaluations of both jobs, two end them: there is nothing to do.
		r.want("eligible", r.entries(), "3 EvalUpdateRequestType\n1 NodeUpdateEligibilityRequestType\n")

		r.ok(nil, r.c.DrainNode(t.Context(), node, &rpc.DrainStrategy{}, false))
		if err := r.c.SetEligibility(t.Context(), node, true); err == nil {
			t.Error("a draining node was made eligible")
		}
		r.ok(nil, r.c.SetEligibility(t.Context(), node, false)) // as it is
		r.ok(nil, r.c.DrainNode(t.Context(), node, nil, true))
		if n := r.snap().NodeByID(node); n.Drain != nil || n.SchedulingEligibility != rpc.NodeEligible {
			t.Errorf("after the drain was ended: %+v", n)
		}
		if err := r.c.DrainNode(t.Context(), "nobody", nil, false); !errors.Is(err, rpc.ErrNodeNotFound) {
			t.Errorf("drain of a node that is not there: %v", err)
		}
	})
}
