package fsm

import (
	"strings"
	"testing"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/state"
)

// TestRoom: which entries make those look again who wait for room, and on which nodes.
func TestRoom(t *testing.T) {
	update := func(alloc, status string) Command {
		return AllocClientUpdate.With(&AllocClientUpdateRequest{Alloc: []*rpc.Allocation{{ID: alloc, NodeID: "on " + alloc, ClientStatus: status}}})
	}
	status := func(node, status string) Command {
		return NodeUpdateStatus.With(&rpc.NodeUpdateStatusRequest{NodeID: node, Status: status})
	}
	eligible := func(eligibility string) Command {
		return NodeUpdateEligibility.With(&NodeUpdateEligibilityRequest{NodeID: "on a", Eligibility: eligibility})
	}
	register := func(id, status string) Command {
		return NodeRegister.With(&rpc.NodeRegisterRequest{Node: &rpc.Node{ID: id, Status: status}})
	}
	for _, tt := range []struct {
		name  string
		entry Command
		room  string
	}{
		{"an allocation starts", update("a", rpc.AllocClientRunning), ""},
		{"an allocation is done", update("a", rpc.AllocClientComplete), "on a"},
		{"an allocation failed", update("a", rpc.AllocClientFailed), "on a"},
		{"on a node that is down", update("b", rpc.AllocClientFailed), "on b"},
		{"on a node that is gone", update("c", rpc.AllocClientFailed), ""},
		{"a node is ready", status("on a", rpc.NodeStatusReady), "on a"},
		{"a node is down", status("on a", rpc.NodeStatusDown), ""},
		{"a node comes ready", register("new", rpc.NodeStatusReady), "class of new"},
		{"a node that is ready registers again", register("on a", rpc.NodeStatusReady), "class of on a"},
		{"a node comes and is not", register("new", rpc.NodeStatusInit), ""},
		{"a node may be used again", eligible(rpc.NodeEligible), "on a"},
		{"a node may not be used", eligible(rpc.NodeIneligible), ""},
		{"an evaluation", EvalUpdate.With(&EvalUpdateRequest{Evals: []*broker.Evaluation{{ID: "e"}}}), ""},
	} {
		s := state.New()
		for _, c := range []Command{
			register("on a", rpc.NodeStatusReady), register("on b", rpc.NodeStatusDown),
			ApplyPlanResults.With(&state.PlanResults{AllocsUpdated: []*rpc.Allocation{
				{ID: "a", NodeID: "on a"}, {ID: "b", NodeID: "on b"}, {ID: "c", NodeID: "on c"}}}),
		} {
			if _, err := c.Apply(s, s.Index()+1); err != nil {
				t.Fatal(err)
			}
		}
		fx, err := tt.entry.Apply(s, s.Index()+1)
		if err != nil {
			t.Fatal(err)
		}
		var room []string
		for _, n := range fx.Room {
			room = append(room, n.ID)
		}
		if fx.Registered != nil {
			room = append(room, "class of "+fx.Registered.ID)
		}
		if got := strings.Join(room, ", "); got != tt.room {
			t.Errorf("%s: room on %q, want %q", tt.name, got, tt.room)
		}
	}
}
