package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestAClockThatIsAhead: the leader launches a periodic job when its own clock says so. A clock
// that is set meanwhile changes no timer that runs; a leader whose clock is right does not launch
// again what the one before it launched early.
func TestAClockThatIsAhead(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 3, Config{Seed: 1})
		hour := time.Now().Truncate(time.Hour).Add(time.Hour)
		leader := r.c.Leader()
		r.c.StepClock(leader, time.Until(hour.Add(-10*time.Minute)))
		r.ok(r.c.RegisterJob(t.Context(), periodicJob(time.Hour, false)))
		time.Sleep(time.Second)
		r.c.StepClock(leader, 5*time.Minute)
		time.Sleep(9 * time.Minute)
		if got := r.children(); len(got) != 0 {
			t.Errorf("launched %v before the timer was due", got)
		}
		time.Sleep(2 * time.Minute)
		if got := r.children(); len(got) != 1 || !strings.HasSuffix(got[0], fsm.LaunchSuffix+itoa(hour.Unix())) {
			t.Errorf("launched %v, want the one of %d, which is what the leader's clock shows", got, hour.Unix())
		}
		r.ok(nil, r.c.StopServer(leader))
		time.Sleep(time.Until(hour.Add(10 * time.Minute)))
		// The next leader launches for the hour as well: its ID is that of the job that is there.
		if got := r.children(); len(got) != 1 {
			t.Errorf("launched %v, want one by the hour", got)
		}
	})
}

// TestADrainEndsByTheClock that is right when it ends, not by the one that was wrong when it began.
func TestADrainEndsByTheClock(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := drainRig(t, 1) // an hour of several takes ten times as long
		node := "node-00001"
		r.c.StepClock(r.c.Leader(), time.Hour)
		r.ok(nil, r.c.DrainNode(t.Context(), node, &rpc.DrainStrategy{Deadline: 5 * time.Minute, IgnoreSystemJobs: true}, false))
		r.c.StepClock(r.c.Leader(), -time.Hour)
		time.Sleep(10 * time.Minute)
		if r.on(node, rpc.JobTypeService) == 0 {
			t.Error("the node is empty 10 min after the drain began; its deadline is 65 min")
		}
		time.Sleep(56 * time.Minute)
		if n := r.on(node, rpc.JobTypeService); n != 0 {
			t.Errorf("%d allocations are left after the deadline", n)
		}
	})
}

// TestClocksThatAreAheadCollectEarly: what is old enough says the clock of the server whose worker
// collects, which can be any.
func TestClocksThatAreAheadCollectEarly(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		r := newRig(t, 4, Config{Seed: 1, GC: quickGC})
		r.ok(r.c.RegisterJob(t.Context(), serviceJob("stop", 4, 0)))
		time.Sleep(time.Second)
		r.ok(r.c.StopJob(t.Context(), "", "stop", false))
		time.Sleep(time.Second)
		r.report("stop", false)
		time.Sleep(quickGC.EvalThreshold / 4)
		for i := range r.c.Servers() {
			r.c.StepClock(i, quickGC.EvalThreshold)
		}
		time.Sleep(quickGC.EvalThreshold / 4)
		if n := r.c.Stats().Counters.EvalsCollected; n == 0 {
			t.Error("nothing is collected, though every clock says that it is old enough")
		}
	})
}
