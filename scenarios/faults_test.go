package scenarios

import (
	"testing"
	"time"

	"github.com/simctl/simctl/metrics"
)

// withFaults is mixed, but once the backlog has drained faults happen instead of a storm.
func withFaults(t *testing.T, broker string, events ...Event) (Spec, *Scenario) {
	t.Helper()
	spec := mixed(broker)
	sc, err := spec.scenario()
	must(t, err)
	sc.Phases[2] = Phase{Name: "faults", Events: events, Until: Settled{For: quiet}}
	return spec, sc
}

func runFaults(t *testing.T, broker string, events ...Event) *metrics.Result {
	t.Helper()
	spec, sc := withFaults(t, broker, events...)
	res, err := runScenario(t.Context(), spec, sc, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantSound(t, res)
	return res
}

// at is an event some seconds into the phase.
func at(seconds float64, a Action) Event {
	return Event{At: time.Duration(seconds * float64(time.Second)), Action: a}
}

func TestEveryFaultIsSurvived(t *testing.T) {
	for name, events := range map[string][]Event{
		"the leader is killed":  {at(1, KillServer{Server: Leader, For: time.Minute})},
		"a follower is killed":  {at(1, KillServer{Server: Follower}), at(20, StopClients{Fraction: 0.25}), at(90, StartServer{Server: 0}), at(100, Heal{})},
		"the leader is paused":  {at(1, PauseServer{Server: Leader, For: 30 * time.Second})},
		"two servers apart":     {at(1, Partition{From: Members{Servers: []Server{0, 1}}, To: Members{Servers: []Server{2}}, For: time.Minute})},
		"one way":               {at(1, Partition{From: Members{Servers: []Server{Leader}}, OneWay: true, For: time.Minute})},
		"clients cut off":       {at(1, Partition{From: Members{Clients: 0.5}, For: 2 * time.Minute})},
		"slow links":            {at(1, LinkDelay{Latency: 300 * time.Millisecond, Jitter: 200 * time.Millisecond, For: time.Minute})},
		"lossy links":           {at(1, LinkLoss{Loss: 0.2, For: time.Minute})},
		"slow disks":            {at(1, SlowDisk{Longer: 200 * time.Millisecond, For: time.Minute}), at(2, StopClients{Fraction: 0.5, For: 50 * time.Second})},
		"a slow state machine":  {at(1, SlowApply{Servers: []Server{Follower}, Longer: 500 * time.Millisecond, For: time.Minute}), at(2, StopClients{Fraction: 0.5, For: 40 * time.Second})},
		"slow clocks":           {at(1, SkewClocks{Clients: 0.5, Rate: 0.2, For: 3 * time.Minute})},
		"clients flap":          {at(1, FlapClients{Fraction: 0.3, Down: 40 * time.Second, Up: 30 * time.Second, Times: 3})},
		"clients stop and come": {at(1, StopClients{Fraction: 0.5}), at(60, ResumeClients{})},
		"many at once": {
			at(1, KillServer{Server: Leader, For: time.Minute}), at(5, LinkLoss{Loss: 0.1}), at(10, StopClients{Fraction: 0.3, For: time.Minute}),
			at(30, SlowDisk{Longer: 50 * time.Millisecond}), at(100, Heal{}),
		},
	} {
		t.Run(name, func(t *testing.T) {
			legacy, shedding := runFaults(t, "legacy", events...), runFaults(t, "shedding", events...)
			if a, b := outcomeOf(legacy), outcomeOf(shedding); a == "" || !agree(a, b) {
				t.Errorf("the old broker leaves outcome %s, the new one %s", a, b)
			}
		})
	}
}
