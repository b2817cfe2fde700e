package scenarios

import (
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/internal/actions/clients"
	"github.com/simctl/simctl/scenarios/internal/actions/operations"
	"github.com/simctl/simctl/scenarios/internal/conditions"
	"github.com/simctl/simctl/scenarios/internal/run"
)

// TestActionsOfUsers runs one of each action of users and operators against a small
// cluster whose clients report, and checks what must hold at the end.
func TestActionsOfUsers(t *testing.T) {
	spec := Spec{
		Scenario: "heartbeat-storm", Broker: "shedding", Seed: 3, Cost: "loopback",
		Vars: map[string]any{"nodes": 20, "system_jobs": 2, "service_jobs": 2, "allocs_per_node": 2, "fraction": 0.1, "report_allocations": true},
	}
	sc, err := scenarioOf(spec)
	if err != nil {
		t.Fatal(err)
	}
	rolling := job(rpc.JobTypeService, 0, 8)
	rolling.TaskGroups = []rpc.TaskGroup{{Name: "group", Count: 8, MaxParallel: 3, Resources: rpc.Resources{CPUMHz: 21, MemoryMB: 32, DiskMB: 10}}}
	periodic := job(rpc.JobTypeBatch, 0, 2)
	periodic.Periodic = &rpc.PeriodicConfig{Every: time.Minute}
	sc.Phases = []run.Phase{
		sc.Phases[0],
		{Name: "place", Events: []run.Event{{Action: operations.SetSchedulers{PerServer: 2}}}, Until: conditions.Recovered{For: conditions.Quiet}},
		{Name: "users", Until: conditions.Recovered{For: conditions.Quiet}, Events: []run.Event{
			{At: time.Second, Action: operations.UpdateJob{Job: rolling}},
			{At: 2 * time.Minute, Action: operations.ScaleJob{Job: "service-001", Count: 25}},
			{At: 3 * time.Minute, Action: clients.FailAllocs{Jobs: []*rpc.Job{{ID: "service-001"}}, Count: 10}},
			{At: 5 * time.Minute, Action: operations.DrainNodes{Nodes: operations.Nodes{Fraction: 0.1}, Deadline: time.Minute}},
			{At: 8 * time.Minute, Action: operations.EndDrains{Nodes: operations.Nodes{Fraction: 0.1}}},
			{At: 9 * time.Minute, Action: operations.SetEligibility{Nodes: operations.Nodes{Fraction: 0.2}}},
			{At: 10 * time.Minute, Action: operations.SetEligibility{Nodes: operations.Nodes{Fraction: 0.2}, Eligible: true}},
			{At: 10*time.Minute + 30*time.Second, Action: operations.PauseEvalBroker{}},
			{At: 11 * time.Minute, Action: operations.StopJob{Job: "system-000"}},
			{At: 12 * time.Minute, Action: operations.StopJob{Job: "system-001", Purge: true}},
			{At: 13 * time.Minute, Action: operations.ResumeEvalBroker{}},
			{At: 13*time.Minute + 30*time.Second, Action: operations.NodeEvents{Fraction: 0.5, Events: 4}},
			{At: 14 * time.Minute, Action: operations.RegisterJobs{Jobs: []*rpc.Job{periodic}}},
			{At: 17 * time.Minute, Action: operations.LaunchJob{Job: "batch-000"}},
			{At: 18 * time.Minute, Action: operations.StopJob{Job: "batch-000"}},
			{At: 19 * time.Minute, Action: operations.CollectGarbage{}},
		}},
	}
	res, err := run.Run(t.Context(), sc, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, inv := range res.Invariants {
		if !inv.OK {
			t.Errorf("%s: %s", inv.Name, inv.Detail)
		}
	}
	for _, p := range res.Phases {
		if rest := p.Unexplained(); len(rest) > 0 {
			t.Errorf("phase %s: entries that no event explains: %v", p.Name, rest)
		}
	}
	entries := res.Phase("users").RaftEntriesByType
	for kind, want := range map[string]uint64{
		// Two changes of jobs, a periodic one with four launches and one by force.
		metrics.EntryJobRegister: 2 + 1 + 4 + 1, metrics.EntryJobDeregister: 3, "ScalingEventRegisterRequestType": 1,
		"NodeUpdateDrainRequestType": 4, "NodeUpdateEligibilityRequestType": 8,
		"NodeUpdateStatusRequestType": 0, "SchedulerConfigRequestType": 2, "UpsertNodeEventsType": 10,
	} {
		if entries[kind] != want {
			t.Errorf("%d entries of %s, want %d", entries[kind], kind, want)
		}
	}
	if n := entries["BatchNodeUpdateDrainRequestType"]; n < 1 || n > 2 {
		t.Errorf("%d entries end two drains, want 1 or 2", n)
	}
	if n := entries["AllocUpdateDesiredTransitionRequestType"]; n < 4 {
		t.Errorf("%d entries ask for transitions, want one for each of 3 steps of the update and for the drains", n)
	}
}
