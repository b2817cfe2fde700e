package cluster

import (
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestWorkersUtilisation: workers are busy while there is a backlog, idle without one and
// none at all while schedulers are off; the share does not depend on how often one looks.
func TestWorkersUtilisation(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
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
