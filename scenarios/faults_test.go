package scenarios

import (
	"testing"
	"time"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/actions/clients"
	"github.com/simctl/simctl/scenarios/internal/actions/faults"
	"github.com/simctl/simctl/scenarios/internal/conditions"
	"github.com/simctl/simctl/scenarios/internal/judge"
	"github.com/simctl/simctl/scenarios/internal/run"
)

// withFaults is mixed, but once the backlog has drained faults happen instead of a storm.
func withFaults(t *testing.T, broker string, events ...run.Event) *run.Scenario {
	t.Helper()
	sc, err := scenarioOf(mixed(broker))
	must(t, err)
	sc.Phases[2] = run.Phase{Name: "faults", Events: events, Until: conditions.Settled{For: conditions.Quiet}}
	return sc
}

func runFaults(t *testing.T, broker string, events ...run.Event) *metrics.Result {
	t.Helper()
	sc := withFaults(t, broker, events...)
	res, err := run.Run(t.Context(), sc, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantSound(t, res)
	return res
}

// at is an event some seconds into the phase.
func at(seconds float64, a actions.Action) run.Event {
	return run.Event{At: time.Duration(seconds * float64(time.Second)), Action: a}
}

func TestEveryFaultIsSurvived(t *testing.T) {
	for name, events := range map[string][]run.Event{
		"the leader is killed":  {at(1, faults.KillServer{Server: faults.Leader, For: time.Minute})},
		"a follower is killed":  {at(1, faults.KillServer{Server: faults.Follower}), at(20, clients.StopClients{Fraction: 0.25}), at(90, faults.StartServer{Server: 0}), at(100, faults.Heal{})},
		"the leader is paused":  {at(1, faults.PauseServer{Server: faults.Leader, For: 30 * time.Second})},
		"two servers apart":     {at(1, faults.Partition{Links: faults.Links{From: faults.Members{Servers: faults.Servers{0, 1}}, To: faults.Members{Servers: faults.Servers{2}}, For: time.Minute}})},
		"one way":               {at(1, faults.Partition{Links: faults.Links{From: faults.Members{Servers: faults.Servers{faults.Leader}}, OneWay: true, For: time.Minute}})},
		"clients cut off":       {at(1, faults.Partition{Links: faults.Links{From: faults.Members{Clients: 0.5}, For: 2 * time.Minute}})},
		"slow links":            {at(1, faults.LinkDelay{Latency: 300 * time.Millisecond, Jitter: 200 * time.Millisecond, Links: faults.Links{For: time.Minute}})},
		"lossy links":           {at(1, faults.LinkLoss{Loss: 0.2, Links: faults.Links{For: time.Minute}})},
		"slow disks":            {at(1, faults.SlowDisk{Slow: faults.Slow{Longer: 200 * time.Millisecond, For: time.Minute}}), at(2, clients.StopClients{Fraction: 0.5, For: 50 * time.Second})},
		"a slow state machine":  {at(1, faults.SlowApply{Slow: faults.Slow{Servers: faults.Servers{faults.Follower}, Longer: 500 * time.Millisecond, For: time.Minute}}), at(2, clients.StopClients{Fraction: 0.5, For: 40 * time.Second})},
		"slow clocks":           {at(1, clients.SkewClocks{Clients: 0.5, Rate: 0.2, For: 3 * time.Minute})},
		"clients flap":          {at(1, clients.FlapClients{Fraction: 0.3, Down: 40 * time.Second, Up: 30 * time.Second, Times: 3})},
		"clients stop and come": {at(1, clients.StopClients{Fraction: 0.5}), at(60, clients.ResumeClients{})},
		"many at once": {
			at(1, faults.KillServer{Server: faults.Leader, For: time.Minute}), at(5, faults.LinkLoss{Loss: 0.1}), at(10, clients.StopClients{Fraction: 0.3, For: time.Minute}),
			at(30, faults.SlowDisk{Slow: faults.Slow{Longer: 50 * time.Millisecond}}), at(100, faults.Heal{}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			legacy, shedding := runFaults(t, "legacy", events...), runFaults(t, "shedding", events...)
			if a, b := judge.OutcomeOf(legacy), judge.OutcomeOf(shedding); a == "" || !judge.Agree(a, b) {
				t.Errorf("the old broker leaves outcome %s, the new one %s", a, b)
			}
		})
	}
}
