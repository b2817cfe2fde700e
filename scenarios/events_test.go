package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/metrics"
)

// TestFaultsThatKeepALeaderAwayEnd: a user finds no leader while nobody hears anybody, and
// tries again; the fault ends all the same, and his job is there then.
func TestFaultsThatKeepALeaderAwayEnd(t *testing.T) {
	service := job(rpc.JobTypeService, 7, 3)
	res := runFaults(t, "shedding",
		at(1, Partition{For: time.Minute}),
		at(20, RegisterJobs{Jobs: []*rpc.Job{service}}),
		at(21, KillServer{Server: Leader, For: 5 * time.Second}),
	)
	got := map[string][]float64{}
	for _, m := range res.Marks {
		got[m.Name] = append(got[m.Name], m.AtS-res.Phase("faults").StartS)
	}
	for _, name := range []string{"a partition between all", "the partition heals", "1 job registered", "the leader is killed"} {
		if len(got[name]) != 1 {
			t.Errorf("%q is marked at %v, want once: %v", name, got[name], got)
		}
	}
	if heals := got["the partition heals"]; len(heals) == 1 && (heals[0] < 60 || heals[0] > 72) {
		t.Errorf("the partition healed after %g s, want a minute and no more than a call that was under way", heals[0])
	}
	if n := res.Phase("faults").RaftEntriesByType[metrics.EntryJobRegister]; n < 1 {
		t.Errorf("%d jobs registered in the phase, want the user's", n)
	}
}

func TestHealEndsWhatHasNoEnd(t *testing.T) {
	res := runFaults(t, "legacy",
		at(1, KillServer{Server: Follower}), at(2, SlowDisk{Longer: 10 * time.Millisecond}),
		at(3, FlapClients{Fraction: 0.2, Down: time.Hour, Up: time.Hour, Times: 9}),
		at(60, Heal{}),
	)
	if p := res.Phase("faults"); p.EndS-p.StartS > 300 {
		t.Errorf("the phase took %g s: some fault did not end when all were healed", p.EndS-p.StartS)
	}
}

// TestWhatPhasesLeaveIsHealedAtTheEnd: else the servers could not agree.
func TestWhatPhasesLeaveIsHealedAtTheEnd(t *testing.T) {
	spec, sc := withFaults(t, "shedding", at(1, KillServer{Server: Follower}), at(2, StopClients{Fraction: 0.2}))
	sc.Phases[2].Until = Recovered{For: quiet}
	res, err := runScenario(t.Context(), spec, sc, nil)
	must(t, err)
	wantSound(t, res, InvariantServersSame, InvariantConvergence, InvariantLogsSame, InvariantNothingLost)
	if last := res.Marks[len(res.Marks)-1].Name; !strings.Contains(last, "is back") {
		t.Errorf("the last mark is %q, want the server's return", last)
	}
}

func TestImpossibleEventsAreNamed(t *testing.T) {
	for want, a := range map[string]Action{
		"there is no server 4: the scenario has 3": KillServer{Server: 3},
		"lasts -1s":                                    PauseServer{For: -time.Second},
		"server 1 is named twice":                      Partition{From: Members{Servers: []Server{0, 0}}},
		"a share of 1.5 of the clients":                Partition{To: Members{Clients: 1.5}},
		"latency 0s and jitter 0s: give at least one":  LinkDelay{},
		"loss 0: it must be a number above 0":          LinkLoss{},
		"the delay is 0s: it must be above 0":          SlowDisk{},
		"the delay is -1s: it must be above 0":         SlowApply{Longer: -time.Second},
		"a clock rate of 0: it must be a number above": SkewClocks{},
		"a share of -1 of the clients":                 StopClients{Fraction: -1},
		"0 times: it must be at least once":            FlapClients{Down: 1, Up: 1},
		"there is no server 9: the scenario has 3":     StartServer{Server: 8},
	} {
		spec, sc := withFaults(t, "legacy", at(1, Heal{}), at(2, a))
		_, err := runScenario(t.Context(), spec, sc, nil)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "phase faults, event 2") {
			t.Errorf("%+v: error %v, want one that says %q and where", a, err, want)
		}
	}
}

// TestAStuckApplierHoldsUpNoEvent: workers wait for it with their plans in hand, and neither
// a change of num_schedulers nor the end of a server may wait for them; else the fault
// would never end. Found by simctl soak, seed 469.
func TestAStuckApplierHoldsUpNoEvent(t *testing.T) {
	service := job(rpc.JobTypeService, 7, 3)
	res := runFaults(t, "shedding",
		at(1, StickApplier{Server: Leader, For: time.Minute}),
		at(2, RegisterJobs{Jobs: []*rpc.Job{service}}),
		at(5, SetSchedulers{PerServer: 3}),
		at(10, KillServer{Server: Follower, For: 5 * time.Second}),
	)
	for _, m := range res.Marks {
		if since := m.AtS - res.Phase("faults").StartS; strings.Contains(m.Name, "goes on") && (since < 60 || since > 62) {
			t.Errorf("%q at %g s, want after the minute it should last", m.Name, since)
		}
	}
}

// answers is an action that is answered with one error after the other.
type answers []error

func (*answers) Mark() string { return "" }

func (a *answers) do(*run) error {
	err := (*a)[0]
	*a = (*a)[1:]
	return err
}

// TestAnEventTriedAgainFindsItsJobGone: purged by the first try, whose answer was lost, or by
// another event meanwhile. At the first try it is a mistake in the scenario.
func TestAnEventTriedAgainFindsItsJobGone(t *testing.T) {
	r := &run{sc: &Scenario{}}
	if again, err := r.take(step{due: time.Now(), action: &answers{fmt.Errorf("drain node: %w", rpc.ErrNodeNotFound)}}); err != nil || again == nil {
		t.Errorf("an event about a node that a stale server does not know: error %v, again %v; want it to be tried again", err, again)
	}
	gone := fmt.Errorf("stop job: %w", rpc.ErrJobNotFound)
	again, err := r.take(step{due: time.Now(), action: &answers{rpc.ErrUnreachable, gone}})
	if err != nil || again == nil {
		t.Fatalf("an event without an answer: error %v, again %v; want it to be tried again", err, again)
	}
	if again, err = r.take(*again); again != nil || err != nil {
		t.Errorf("tried again: error %v, again %v; want it to be over", err, again)
	}
	if _, err = r.take(step{due: time.Now(), action: &answers{gone}}); !errors.Is(err, rpc.ErrJobNotFound) {
		t.Errorf("tried once: error %v, want that the job was not found", err)
	}
}

// TestUsersWaitForWhatTheyDidBefore: an event that is tried again is not overtaken by another
// user's, but by faults.
func TestUsersWaitForWhatTheyDidBefore(t *testing.T) {
	start := time.Now()
	after := func(s float64, a Action) step {
		return step{due: start.Add(time.Duration(s * float64(time.Second))), action: a}
	}
	order := func(steps []step) (text string) {
		for _, s := range steps {
			text += fmt.Sprintf("%T at %v; ", s.action, s.due.Sub(start))
		}
		return strings.ReplaceAll(text, "scenarios.", "")
	}
	steps := []step{after(0.2, RegisterJobs{}), after(0.5, Heal{}), after(0.7, ResumeEvalBroker{}), after(3, DrainNodes{})}
	if got, want := order(putBack(slices.Clone(steps), after(1, StopJob{}))), "Heal at 500ms; StopJob at 1s; RegisterJobs at 1s; ResumeEvalBroker at 1s; DrainNodes at 3s; "; got != want {
		t.Errorf("a user's event is tried again:\n got %s\nwant %s", got, want)
	}
	if got, want := order(putBack(slices.Clone(steps), after(1, KillServer{}))), "RegisterJobs at 200ms; Heal at 500ms; ResumeEvalBroker at 700ms; KillServer at 1s; DrainNodes at 3s; "; got != want {
		t.Errorf("a fault is tried again:\n got %s\nwant %s", got, want)
	}
}
