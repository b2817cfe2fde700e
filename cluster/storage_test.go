package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	raftboltdb "github.com/hashicorp/raft-boltdb/v2"

	"github.com/simctl/simctl/broker"
)

// TestServersComeBackFromDisk: one server, and then all at once, take from their files
// what they had, with what a snapshot removed from the log.
func TestServersComeBackFromDisk(t *testing.T) {
	dir := t.TempDir()
	c := startCluster(t, Config{Seed: 1, DataDir: dir, Raft: RaftConfig{
		HeartbeatTimeout: 200 * time.Millisecond, ElectionTimeout: 200 * time.Millisecond,
		LeaderLeaseTimeout: 100 * time.Millisecond, CommitTimeout: 5 * time.Millisecond, TrailingLogs: 5,
	}})
	jobs := 0
	write := func(upTo int) {
		t.Helper()
		for ; jobs < upTo; jobs++ {
			// A busy machine can cost a leader its place in the middle of it.
			eventually(t, func() bool {
				_, err := c.RegisterJob(t.Context(), systemJob(fmt.Sprintf("sys-%d", jobs)))
				return err == nil
			})
		}
	}
	write(20)
	follower := (c.Leader() + 1) % 3
	eventually(t, func() bool { return jobsOf(c, follower) == 20 })
	if err := c.server(follower).Raft.Snapshot().Error(); err != nil {
		t.Fatal(err)
	}
	write(25)
	stop(t, c, follower)
	write(30)
	wantAgreement(t, c, 30)
	start(t, c, follower)
	wantEqual(t, c, 30)

	for i := range c.Servers() {
		stop(t, c, i)
	}
	for i := range c.Servers() {
		start(t, c, i)
	}
	wantEqual(t, c, 30)
	write(35)
	wantEqual(t, c, 35)
	a := wantAgreement(t, c, 35)
	if n := c.EntriesBetween(0, a.UpTo)["JobRegisterRequestType"]; n < 35 {
		t.Errorf("%d entries of jobs counted, want 35: those that a snapshot removed, too", n)
	}
	if snaps, err := os.ReadDir(filepath.Join(dir, c.Addr(follower), "snapshots")); err != nil || len(snaps) != 1 {
		t.Errorf("snapshots of %s: %v, error %v", c.Addr(follower), snaps, err)
	}
}

// TestClustersResume: the servers of another process, or of the third, go on where those before
// ended, whose IDs they do not draw again.
func TestClustersResume(t *testing.T) {
	cfg := Config{Seed: 1, DataDir: t.TempDir(), Resume: true, NumSchedulers: 1, Raft: RaftConfig{
		HeartbeatTimeout: 200 * time.Millisecond, ElectionTimeout: 200 * time.Millisecond,
		LeaderLeaseTimeout: 100 * time.Millisecond, CommitTimeout: 5 * time.Millisecond, TrailingLogs: 5,
	}}
	ids := map[string]bool{}
	var fingerprint string
	for life := range 3 {
		c, err := Start(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, func() bool {
			for i := range c.Servers() {
				if jobsOf(c, i) != life {
					return false
				}
			}
			return true
		})
		if got := c.State(0).Snapshot().Fingerprint(); life > 0 && got != fingerprint {
			t.Errorf("process %d starts from state %s, want %s", life, got, fingerprint)
		}
		if n := c.EntriesBetween(0, c.Stats().LastIndex)["JobRegisterRequestType"]; n != uint64(life) {
			t.Errorf("process %d finds %d entries of jobs in the log, want %d", life, n, life)
		}
		eventually(t, func() bool {
			id, err := c.RegisterJob(t.Context(), systemJob(fmt.Sprintf("sys-%d", life)))
			if ids[id] {
				t.Errorf("process %d draws the ID %s again", life, id)
			}
			ids[id] = true
			return err == nil
		})
		wantAgreement(t, c, 1)
		eventually(t, func() bool { // the evaluation is over, and everybody knows
			fingerprint = c.State(0).Snapshot().Fingerprint()
			for i := range c.Servers() {
				s := c.State(i).Snapshot()
				if jobsOf(c, i) != life+1 || s.EvalsByStatusCount()[broker.StatusPending] > 0 || s.Fingerprint() != fingerprint {
					return false
				}
			}
			return true
		})
		if life == 1 {
			if err := c.server(0).Raft.Snapshot().Error(); err != nil {
				t.Error(err)
			}
			eventually(t, func() bool { return c.Leader() >= 0 })
		}
		if err := c.Shutdown(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDataDirOfAnEarlierCluster is refused, and leaves no file open.
func TestDataDirOfAnEarlierCluster(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "server-2"), 0o755); err != nil {
		t.Fatal(err)
	}
	c, err := Start(context.Background(), Config{Seed: 1, DataDir: dir})
	if err == nil {
		t.Fatal(errors.Join(errors.New("it was taken"), c.Shutdown()))
	}
	if !errors.Is(err, os.ErrExist) || !strings.Contains(err.Error(), filepath.Join(dir, "server-2")) {
		t.Errorf("error %v, want it to name the directory", err)
	}
	again, err := raftboltdb.NewBoltStore(filepath.Join(dir, "server-1", "raft.db")) // waits for ever if it is open
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

func stop(t *testing.T, c *Cluster, i int) {
	t.Helper()
	if err := c.StopServer(i); err != nil {
		t.Fatal(err)
	}
}

func start(t *testing.T, c *Cluster, i int) {
	t.Helper()
	if err := c.StartServer(i); err != nil {
		t.Fatal(err)
	}
}

// wantEqual waits until every server has that many jobs, and the same state.
func wantEqual(t *testing.T, c *Cluster, jobs int) {
	t.Helper()
	eventually(t, func() bool {
		first := c.State(0).Snapshot()
		for i := range c.Servers() {
			if jobsOf(c, i) != jobs || c.State(i).Snapshot().Fingerprint() != first.Fingerprint() {
				return false
			}
		}
		return true
	})
}

// wantAgreement waits until the servers that run have every acknowledged write.
func wantAgreement(t *testing.T, c *Cluster, acked int) (a Agreement) {
	t.Helper()
	eventually(t, func() bool {
		a = c.CheckLogs()
		return a.Lost == nil
	})
	if a.Logs != nil || a.Acked < acked {
		t.Errorf("%+v, want agreement on %d acknowledged writes", a, acked)
	}
	return a
}

func jobsOf(c *Cluster, i int) int { return len(slices.Collect(c.State(i).Snapshot().Jobs())) }

// eventually looks every two milliseconds, of the wall clock but in a bubble, until a condition holds.
func eventually(t *testing.T, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for !holds() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("waited for a minute in vain")
		}
	}
}
