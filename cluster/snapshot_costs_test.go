package cluster

import (
	"testing"
	"time"

	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestWhatSnapshotsCost: each server pays for every row of a snapshot, and then for each write
// by the room on its disk that the snapshot freed, until new entries have taken it.
func TestWhatSnapshotsCost(t *testing.T) {
	const ms = time.Millisecond
	const nodes = 100
	const more = 140 // too few entries for another snapshot, whenever Raft looks, and enough to take the room
	virtualtest.Test(t, func(t *testing.T) {
		run := func(raft RaftCosts) (before, snapshot, write, later time.Duration) {
			r := newRig(t, nodes, Config{Seed: 1, Costs: Costs{Cores: 4, Raft: raft}, Raft: RaftConfig{SnapshotThreshold: more + 10, TrailingLogs: 10}})
			before, _ = r.c.cpuTime()
			last := before
			spent := func() time.Duration {
				time.Sleep(time.Second)
				now, _ := r.c.cpuTime()
				d := now - last
				last = now
				return d.Round(ms)
			}
			time.Sleep(5 * time.Minute) // twice Raft's interval and more
			snapshot = spent()
			status := func(i int, status string) {
				_, err := r.c.NodeServer(0).UpdateStatus(t.Context(), &rpc.NodeUpdateStatusRequest{NodeID: testNode(i).ID, Status: status})
				r.ok(nil, err)
			}
			status(0, rpc.NodeStatusDown)
			write = spent()
			for i := range more {
				_, err := r.c.NodeServer(0).Register(t.Context(), &rpc.NodeRegisterRequest{Node: testNode(nodes + i)})
				r.ok(nil, err)
			}
			spent()
			status(1, rpc.NodeStatusDown)
			return before, snapshot, write, spent()
		}
		if _, snapshot, write, _ := run(RaftCosts{PerRow: ms}); snapshot != 3*nodes*ms || write != 0 {
			t.Errorf("three snapshots of %d nodes took %v, and a write then %v; want %v and nothing", nodes, snapshot, write, 3*nodes*ms)
		}
		before, snapshot, write, later := run(RaftCosts{PerFreeKiB: 10 * ms})
		if before.Round(ms) != 0 || snapshot != 0 || write <= 0 || later != 0 {
			t.Errorf("freed room took %v before snapshots, %v while they were taken, %v at the next write and %v when it was used again; want something at the next write only",
				before, snapshot, write, later)
		}
	})
}
