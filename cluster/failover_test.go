package cluster

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/server"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestFailoverRestoresTheBacklog: a new leader has every evaluation that was pending,
// and a server that comes back catches up.
func TestFailoverRestoresTheBacklog(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
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

// TestLeadsAgain: a server that comes to lead for the second time has what was written meanwhile,
// and nothing that others have done.
func TestLeadsAgain(t *testing.T) {
	for _, schedulers := range []int{0, 1} {
		virtualtest.Test(t, func(t *testing.T) {
			c := startCluster(t, Config{Seed: 3, NumSchedulers: schedulers})
			first, jobs := c.Leader(), 0
			register := func() error {
				_, err := c.RegisterJob(t.Context(), systemJob(fmt.Sprint("sys-", jobs)))
				if err == nil {
					jobs++
				}
				return err
			}
			if err := register(); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Second)
			for turns := 0; turns == 0 || c.Leader() != first; turns++ {
				if turns == 30 {
					t.Fatalf("server %d never leads again", first+1)
				}
				leader := c.Leader()
				c.FillDisk(leader, true) // with which it ceases to lead
				for register() != nil {
					time.Sleep(time.Second)
				}
				c.FillDisk(leader, false)
				time.Sleep(10 * time.Second)
			}
			st := c.Stats()
			pending, processed := jobs, 0
			if schedulers > 0 {
				pending, processed = 0, jobs
			}
			if st.StatePending != pending || st.Broker.Ready != pending || st.Counters.EvalsProcessed != uint64(processed) {
				t.Errorf("of %d evaluations %d are pending, %d ready and %d were processed", jobs, st.StatePending, st.Broker.Ready, st.Counters.EvalsProcessed)
			}
		})
	}
}

// beat sends a heartbeat through a server, and says how long the answer took.
func beat(t *testing.T, c *Cluster, through, node int) (took time.Duration, err error) {
	t.Helper()
	began := time.Now()
	_, err = c.NodeServer(through).UpdateStatus(t.Context(), &rpc.NodeUpdateStatusRequest{NodeID: testNode(node).ID, Status: rpc.NodeStatusReady})
	return time.Since(began), err
}

// TestCallsToADeadLeader: until followers notice that their leader is dead, they refuse what they would forward to it. From then on
// they hold calls until there is another (nomad/rpc.go, getLeaderForRPC).
func TestCallsToADeadLeader(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		c := startCluster(t, Config{Seed: 3})
		register(t, c, 0, 1)
		first := c.Leader()
		if err := c.StopServer(first); err != nil {
			t.Fatal(err)
		}
		through, refused := (first+1)%3, 0
		held, err := beat(t, c, through, 0)
		for ; errors.Is(err, rpc.ErrUnreachable) && held < 10*time.Millisecond; held, err = beat(t, c, through, 0) {
			refused++
			time.Sleep(50 * time.Millisecond)
		}
		if err != nil || refused < 5 || held < 100*time.Millisecond {
			t.Errorf("a follower refused %d calls, and answered the next one with %v after %v, want 5 or more, and no error after 100ms or more", refused, err, held)
		}
	})
}

// TestALeaderThatIsNotReady: it holds calls, whichever server they came through, and refuses them in the end.
func TestALeaderThatIsNotReady(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		c := startCluster(t, Config{Seed: 3})
		first := c.Leader()
		for i := range 3 {
			if i != first {
				c.SlowApply(i, time.Second)
			}
		}
		register(t, c, 0, 30)
		if err := c.StopServer(first); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second) // in which another comes to lead, and has 20 entries to apply
		for through := range 3 {
			if through == first {
				continue
			}
			if took, err := beat(t, c, through, 0); !errors.Is(err, rpc.ErrNotReady) || took < 5*time.Second || took > 6*time.Second {
				t.Errorf("through server %d: %v after %v, want %v after 5s", through, err, took, rpc.ErrNotReady)
			}
		}
		for i := range 3 {
			if i != first {
				c.SlowApply(i, -time.Second)
			}
		}
		time.Sleep(30 * time.Second)
		if took, err := beat(t, c, (first+1)%3, 0); err != nil || took > 10*time.Millisecond {
			t.Errorf("through a server whose leader is ready: %v after %v", err, took)
		}
	})
}

// TestStopAnswersWhoWaits: when a server stops, everybody who waits for an entry of its
// hears of it, also those whose entries were committed and not yet applied, whom Raft
// itself forgets.
func TestStopAnswersWhoWaits(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		c := startCluster(t, Config{Seed: 3})
		leader := c.Leader()
		c.SlowApply(leader, time.Minute)
		const writes = 20
		errs := make(chan error, writes)
		for i := range writes {
			update := &fsm.EvalUpdateRequest{Evals: []*broker.Evaluation{{ID: fmt.Sprint("eval-", i)}}}
			go func() {
				_, err := c.server(leader).Write(fsm.EvalUpdate.With(update))
				errs <- err
			}()
			time.Sleep(10 * time.Millisecond)
		}
		began := time.Now()
		if err := c.StopServer(leader); err != nil {
			t.Fatal(err)
		}
		for i := range writes {
			if err := <-errs; !errors.Is(err, server.ErrStopped) {
				t.Errorf("entry %d: error %v, want %v", i, err, server.ErrStopped)
			}
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("whoever waited heard after %v", took)
		}
	})
}
