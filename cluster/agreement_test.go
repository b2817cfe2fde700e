package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestLogsAgree: they do after a failover, and what was changed behind Raft's back shows.
func TestLogsAgree(t *testing.T) {
	virtualtest.Test(t, func(t *testing.T) {
		c := startCluster(t, Config{Seed: 5, Raft: RaftConfig{SnapshotThreshold: 20, TrailingLogs: 10}})
		jobs := func(from, upTo int) {
			for j := from; j < upTo; j++ {
				if _, err := c.RegisterJob(t.Context(), systemJob(fmt.Sprintf("sys-%d", j))); err != nil {
					t.Fatal(err)
				}
			}
		}
		jobs(0, 10)
		first := c.Leader()
		if err := c.StopServer(first); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Second)
		jobs(10, 60)
		time.Sleep(5 * time.Minute) // Raft takes snapshots, and compacts its logs
		if err := c.StartServer(first); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		jobs(60, 65) // its log has a gap now, where the leader's snapshot came in between
		time.Sleep(10 * time.Second)
		a := c.CheckLogs()
		if a.Logs != nil || a.Lost != nil || a.Acked != 65 || a.UpTo < 60 {
			t.Fatalf("%+v, want agreement on 65 acknowledged writes", a)
		}
		before := c.EntriesBetween(0, a.UpTo)
		if before["JobRegisterRequestType"] != 65 {
			t.Errorf("entries by type after snapshots: %v, want 65 jobs", before)
		}

		victim := (first + 1) % 3 // not the one that a snapshot brought up to date
		last := c.servers[victim].Logs
		forged := &raft.Log{Index: a.UpTo, Term: 99, Type: raft.LogCommand, Data: []byte{byte(fsm.EvalUpdate.Type)}}
		var was raft.Log
		if err := last.GetLog(a.UpTo, &was); err != nil {
			t.Fatal(err)
		}
		if err := last.StoreLog(forged); err != nil {
			t.Fatal(err)
		}
		a = c.CheckLogs()
		if a.Logs == nil || !strings.Contains(a.Logs.Error(), "of term 99") {
			t.Errorf("logs with an entry of another term: %v", a.Logs)
		}
		if a.Lost == nil || !strings.Contains(a.Lost.Error(), "was acknowledged, but "+c.Addr(victim)+" has one of term 99") {
			t.Errorf("an acknowledged write overwritten: %v", a.Lost)
		}
		forged.Term = was.Term
		if err := last.StoreLog(forged); err != nil {
			t.Fatal(err)
		}
		if a = c.CheckLogs(); a.Logs == nil || !strings.Contains(a.Logs.Error(), "bytes") || a.Lost != nil {
			t.Errorf("logs with other data: %v; lost %v", a.Logs, a.Lost)
		}
		if err := last.StoreLog(&was); err != nil {
			t.Fatal(err)
		}
		c.shared.Acked.Note(a.UpTo+5, 1)
		if a = c.CheckLogs(); a.Lost == nil || !strings.Contains(a.Lost.Error(), "applied no more than") {
			t.Errorf("an acknowledged write that nobody has: %v", a.Lost)
		}
	})
}
