package cluster

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/simctl/simctl/broker"
)

// TestNobodyDrawsTheSameTwice: workers that replace others, and those of a server that
// starts again, do not make the IDs that were made before.
func TestNobodyDrawsTheSameTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, Config{Seed: 3, NumSchedulers: 2})
		seen := map[uint64]string{}
		note := func(when string) {
			for i := range c.Servers() {
				s := c.server(i)
				s.mu.Lock()
				for _, w := range s.workers {
					w.cancel()
				}
				s.mu.Unlock()
				s.workerWG.Wait()
				for _, w := range s.workers {
					draw := w.rand.Uint64()
					if before, ok := seen[draw]; ok {
						t.Errorf("%s of %s %s draws %d, as %s did", w.name, s.addr, when, draw, before)
					}
					seen[draw] = w.name + " of " + s.addr + " " + when
				}
			}
		}
		note("at first")
		c.SetNumSchedulers(2)
		note("after a change of num_schedulers")
		for i := range c.Servers() {
			if err := c.StopServer(i); err != nil {
				t.Fatal(err)
			}
			if err := c.StartServer(i); err != nil {
				t.Fatal(err)
			}
		}
		note("after a restart")
	})
}

// TestFailoverRestoresTheBacklog: a new leader has every evaluation that was pending,
// and a server that comes back catches up.
func TestFailoverRestoresTheBacklog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, Config{Seed: 3, Policy: broker.Shedding()})
		for j := range 3 {
			if _, err := c.RegisterJob(t.Context(), systemJob(fmt.Sprintf("sys-%d", j))); err != nil {
				t.Fatal(err)
			}
		}
		register(t, c, 0, 30)
		first := c.Leader()
		if err := c.StopServer(first); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		second := c.Leader()
		if second < 0 || second == first {
			t.Fatalf("leader is %d after %d stopped", second, first)
		}
		if st := c.Stats(); st.Broker.Ready != 3 || st.Broker.Pending != 90 {
			t.Errorf("broker after failover: %+v, want 3 ready and 90 pending", st.Broker)
		}
		if err := c.StartServer(first); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		if a, b := c.State(first).Snapshot().Fingerprint(), c.State(second).Snapshot().Fingerprint(); a != b {
			t.Errorf("state of the server that came back differs: %s, leader's is %s", a, b)
		}
	})
}

// TestStopAnswersWhoWaits: when a server stops, everybody who waits for an entry of his
// hears of it, also those whose entries were committed and not yet applied, whom Raft
// itself forgets.
func TestStopAnswersWhoWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, Config{Seed: 3})
		leader := c.Leader()
		c.SlowApply(leader, time.Minute)
		var entries []raftEntry
		for i := range 20 {
			update := &evalUpdateRequest{Evals: []*broker.Evaluation{{ID: fmt.Sprint("eval-", i)}}}
			entries = append(entries, c.server(leader).raftApplyFuture(evalUpdateRequestType, update))
			time.Sleep(10 * time.Millisecond)
		}
		began := time.Now()
		if err := c.StopServer(leader); err != nil {
			t.Fatal(err)
		}
		for i, e := range entries {
			if index, err := e.wait(); !errors.Is(err, errStopped) {
				t.Errorf("entry %d: index %d, error %v, want %v", i, index, err, errStopped)
			}
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("whoever waited heard after %v", took)
		}
	})
}
