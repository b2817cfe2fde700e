package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

func TestUsageIsThatSinceTheLastLook(t *testing.T) {
	t0 := time.Unix(100, 0)
	u := usage{at: t0}
	for i, look := range []struct {
		after    time.Duration
		used, of time.Duration
		want     float64
	}{
		{1 * time.Second, 1 * time.Second, 4 * time.Second, 0.25},
		{1 * time.Second, 1 * time.Second, 4 * time.Second, 0.25}, // another look at one instant
		{2 * time.Second, 5 * time.Second, 8 * time.Second, 1},
		{3 * time.Second, 5 * time.Second, 12 * time.Second, 0},
		{4 * time.Second, 6 * time.Second, 12 * time.Second, 0},         // there is none any more
		{5 * time.Second, 9 * time.Second, 12500 * time.Millisecond, 1}, // never more than there is
	} {
		if got := u.look(t0.Add(look.after), look.used, look.of); got != look.want {
			t.Errorf("look %d: %g, want %g", i, got, look.want)
		}
	}
}

func TestWorkloadAddsUpWorkerTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w workload
		w.change(2, 0)
		time.Sleep(time.Second)
		w.change(0, 1)
		time.Sleep(2 * time.Second)
		w.change(-1, -1)
		time.Sleep(4 * time.Second)
		worked, served := w.totals(time.Now())
		if worked != 2*time.Second || served != 10*time.Second {
			t.Errorf("worked %v of %v, want 2s of 10s", worked, served)
		}
	})
}

// TestWorkersUtilisation: workers are busy while there is a backlog, idle without one and
// none at all while schedulers are off; the share does not depend on how often one looks.
func TestWorkersUtilisation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		costs := Costs{Cores: 2, Scheduler: map[string]SchedulerCosts{rpc.JobTypeSystem: {Base: 100 * time.Millisecond}}}
		c := startCluster(t, Config{Seed: 1, Policy: broker.Legacy(), Costs: costs})
		for _, id := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
			if _, err := c.RegisterJob(t.Context(), systemJob(id)); err != nil {
				t.Fatal(err)
			}
		}
		register(t, c, 0, 20)
		if got := c.Stats().WorkerUtilisation; got != 0 {
			t.Errorf("without workers: %g, want 0", got)
		}
		c.SetNumSchedulers(2)
		time.Sleep(time.Second)
		c.Stats() // what came before is none of the next look's
		time.Sleep(time.Second)
		busy := c.Stats().WorkerUtilisation
		if busy < 0.95 || busy > 1 {
			t.Errorf("with a backlog: %g, want nearly 1", busy)
		}
		if again := c.Stats().WorkerUtilisation; again != busy {
			t.Errorf("another look at one instant: %g, want %g as before", again, busy)
		}
		for c.Stats().StatePending > 0 {
			time.Sleep(time.Second)
		}
		c.Stats()
		time.Sleep(time.Second)
		if got := c.Stats().WorkerUtilisation; got != 0 {
			t.Errorf("without a backlog: %g, want 0", got)
		}
	})
}
