package serve

import (
	"strings"
	"testing"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/internal/nomadrpc"
)

// TestRemoteWorker: a worker of another process gets an evaluation, places an allocation, stops it and acknowledges; what
// makes no sense is refused.
func TestRemoteWorker(t *testing.T) {
	t.Parallel()
	o := options()
	o.Schedulers = 0
	where := start(t, o)
	client, err := api.NewClient(&api.Config{Address: "http://" + where.HTTP.String()})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	s, err := nomadrpc.Dial(t.Context(), where.RPC[0].String(), nomadrpc.DialConfig{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	call := func(method string, req, resp any) {
		t.Helper()
		if err := s.Call(t.Context(), method, req, resp); err != nil {
			t.Fatal(err)
		}
	}
	const node = "11111111-2222-3333-4444-555555555555"
	call("Node.Register", &nomadrpc.NodeRegisterRequest{Node: &nomadrpc.Node{
		ID: node, SecretID: node, Name: "n", Datacenter: "dc1", Attributes: map[string]string{"driver.mock_driver": "1"}, Status: "initializing",
		NodeResources: &nomadrpc.NodeResources{
			Cpu: nomadrpc.NodeCPUResources{CpuShares: 1000}, Memory: nomadrpc.NodeMemoryResources{MemoryMB: 1000}, Disk: nomadrpc.NodeDiskResources{DiskMB: 1000},
		},
	}}, &nomadrpc.NodeUpdateResponse{})
	call("Node.UpdateStatus", &nomadrpc.NodeUpdateStatusRequest{NodeID: node, Status: "ready"}, &nomadrpc.NodeUpdateResponse{})
	job := api.NewServiceJob("web", "web", "global", 50)
	job.AddTaskGroup(api.NewTaskGroup("g", 1).AddTask(api.NewTask("t", "mock_driver").Require(&api.Resources{CPU: new(10), MemoryMB: new(600)})))
	if _, _, err := client.Jobs().Register(job, nil); err != nil {
		t.Fatal(err)
	}
	var got nomadrpc.EvalDequeueResponse
	call("Eval.Dequeue", &nomadrpc.EvalDequeueRequest{Schedulers: []string{"service"}, SchedulerVersion: 1}, &got)
	if got.Eval == nil || got.Eval.JobID != "web" || got.Token == "" || got.WaitIndex < got.Eval.ModifyIndex {
		t.Fatalf("dequeued %+v", got)
	}
	plan := func(alloc nomadrpc.Allocation) *nomadrpc.PlanRequest {
		alloc.EvalID, alloc.Namespace, alloc.Name = got.Eval.ID, "default", "web.g[0]"
		return &nomadrpc.PlanRequest{Plan: &nomadrpc.Plan{
			EvalID: got.Eval.ID, EvalToken: got.Token, SnapshotIndex: got.WaitIndex, NodeAllocation: map[string][]*nomadrpc.Allocation{node: {&alloc}},
		}}
	}
	forged := plan(nomadrpc.Allocation{ID: "a", NodeID: node, JobID: "web", TaskGroup: "g"})
	forged.Plan.EvalToken = "forged"
	empty := plan(nomadrpc.Allocation{})
	empty.Plan.NodeAllocation[node] = []*nomadrpc.Allocation{nil}
	stopsNil := &nomadrpc.PlanRequest{Plan: &nomadrpc.Plan{NodeUpdate: empty.Plan.NodeAllocation}}
	end := func(id, token string) *nomadrpc.EvalAckRequest {
		return &nomadrpc.EvalAckRequest{EvalID: id, Token: token}
	}
	for _, tt := range []struct {
		method string
		req    any
		want   string
	}{
		{"Eval.Dequeue", &nomadrpc.EvalDequeueRequest{}, "of no type"},
		{"Eval.Dequeue", &nomadrpc.EvalDequeueRequest{Schedulers: []string{"_core"}}, `of type "_core"`},
		{"Eval.Ack", end("none", got.Token), "eval not found"},
		{"Eval.Nack", end(got.Eval.ID, "forged"), "token does not match"},
		{"Plan.Submit", &nomadrpc.PlanRequest{}, "nil plan"},
		{"Plan.Submit", plan(nomadrpc.Allocation{ID: "a", NodeID: node, JobID: "wob", TaskGroup: "g"}), `job "wob", which is not registered`},
		{"Plan.Submit", plan(nomadrpc.Allocation{ID: "a", NodeID: node, JobID: "web", TaskGroup: "h"}), `of group "h"`},
		{"Plan.Submit", plan(nomadrpc.Allocation{ID: "a", NodeID: "another", JobID: "web", TaskGroup: "g"}), `is of node "another"`},
		{"Plan.Submit", forged, "token does not match"},
		{"Plan.Submit", empty, "nil allocation"},
		{"Plan.Submit", stopsNil, "nil allocation"},
		{"Node.EmitEvents", &nomadrpc.EmitNodeEventsRequest{NodeEvents: map[string][]*nomadrpc.NodeEvent{node: {nil}}}, "nil event"},
		{"Node.UpdateAlloc", &nomadrpc.AllocUpdateRequest{Alloc: []*nomadrpc.Allocation{nil}}, "nil allocation"},
	} {
		if err := s.Call(t.Context(), tt.method, tt.req, &struct{}{}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s with %+v: %v, want %q", tt.method, tt.req, err, tt.want)
		}
	}

	desired := func() (all []string) {
		allocs, _, err := client.Nodes().Allocations(node, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range allocs {
			all = append(all, a.ID+" "+a.DesiredStatus)
		}
		return all
	}
	var answer nomadrpc.PlanResponse
	call("Plan.Submit", plan(nomadrpc.Allocation{ID: "first", NodeID: node, JobID: "web", TaskGroup: "g"}), &answer)
	if r := answer.Result; len(r.NodeAllocation[node]) != 1 || r.AllocIndex == 0 || r.RefreshIndex != 0 {
		t.Errorf("a plan that fits: %+v", r)
	}
	answer = nomadrpc.PlanResponse{}
	call("Plan.Submit", plan(nomadrpc.Allocation{ID: "second", NodeID: node, JobID: "web", TaskGroup: "g"}), &answer)
	if r := answer.Result; len(r.NodeAllocation) != 0 || r.RefreshIndex == 0 {
		t.Errorf("a plan that does not fit: %+v", r)
	}
	if got := strings.Join(desired(), ", "); got != "first run" {
		t.Errorf("on the node: %s", got)
	}
	stop := plan(nomadrpc.Allocation{})
	stop.Plan.NodeAllocation, stop.Plan.NodeUpdate = nil, map[string][]*nomadrpc.Allocation{node: {{ID: "first", DesiredStatus: "stop"}, {ID: "collected"}}}
	call("Plan.Submit", stop, &answer)
	if got := strings.Join(desired(), ", "); got != "first stop" {
		t.Errorf("on the node after a stop: %s", got)
	}
	call("Eval.Ack", end(got.Eval.ID, got.Token), &nomadrpc.GenericResponse{})
	err = s.Call(t.Context(), "Eval.Ack", end(got.Eval.ID, got.Token), &nomadrpc.GenericResponse{})
	if err == nil || !strings.Contains(err.Error(), "not outstanding") {
		t.Errorf("a second ack: %v", err)
	}
}
