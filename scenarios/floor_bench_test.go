package scenarios

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/simnet"
	"github.com/simctl/simctl/internal/rusage"
	"github.com/simctl/simctl/scenarios/internal/bubble"
)

// BenchmarkFloor holds a whole legacy run against the least that it could cost: bare
// hashicorp/raft that applies as many entries to an empty state machine, between as many
// servers, on virtual time. The ratio is of processor time for each entry, of all rounds: the two take turns, since a machine
// may be a fifth slower from one second to the next. Run it with -benchtime=5x -cpu 1.
func BenchmarkFloor(b *testing.B) {
	var whole, floor time.Duration
	var entries float64
	for b.Loop() {
		began := rusage.CPU()
		spec := Spec{Scenario: "heartbeat-storm", Broker: "legacy", Seed: 1}
		spec.Set("nodes", 1000)
		res, err := RunOne(b.Context(), spec, nil)
		if err != nil {
			b.Fatal(err)
		}
		whole += rusage.CPU() - began

		began = rusage.CPU()
		if err := bubble.Run(b.Context(), 0, func(context.Context, *bubble.World) error {
			return bareRaft(3, int(res.Totals.RaftEntries))
		}); err != nil {
			b.Fatal(err)
		}
		floor += rusage.CPU() - began
		entries += float64(res.Totals.RaftEntries)
	}
	b.ReportMetric(entries/float64(b.N), "entries")
	b.ReportMetric(float64(whole.Microseconds())/entries, "run-cpu-µs/entry")
	b.ReportMetric(float64(floor.Microseconds())/entries, "raft-cpu-µs/entry")
	b.ReportMetric(float64(whole)/float64(floor), "ratio")
}

// entryBytes is the size of the entry that completes an evaluation, which most entries of such
// a run are, as measured on real Nomad 1.4.2.
const entryBytes = 433

// bareRaft applies entries one after the other and waits for each.
func bareRaft(servers, entries int) error {
	cluster.SeedRaft(1)
	link := simnet.Link{Latency: 100 * time.Microsecond, Jitter: 50 * time.Microsecond}
	network := simnet.New(1, link, link)
	var peers raft.Configuration
	for i := range servers {
		addr := fmt.Sprintf("server-%d", i)
		peers.Servers = append(peers.Servers, raft.Server{ID: raft.ServerID(addr), Address: raft.ServerAddress(addr)})
	}
	var nodes []*raft.Raft
	for _, peer := range peers.Servers {
		conf := raft.DefaultConfig()
		conf.LocalID, conf.Logger, conf.SnapshotThreshold = peer.ID, hclog.NewNullLogger(), 1<<62
		logs, stable, snaps := raft.NewInmemStore(), raft.NewInmemStore(), raft.NewInmemSnapshotStore()
		transport := network.NewTransport(string(peer.Address), nil)
		if err := raft.BootstrapCluster(conf, logs, stable, snaps, transport, peers); err != nil {
			return err
		}
		r, err := raft.NewRaft(conf, empty{}, logs, stable, snaps, transport)
		if err != nil {
			return err
		}
		transport.Listen(nil)
		defer func() {
			stopped := r.Shutdown()
			_ = transport.Close()
			_ = stopped.Error()
		}()
		nodes = append(nodes, r)
		time.Sleep(137 * time.Microsecond)
	}
	data := make([]byte, entryBytes)
	for applied := 0; applied < entries; {
		for _, r := range nodes {
			if r.State() == raft.Leader && r.Apply(data, 0).Error() == nil {
				applied++
			}
		}
		if applied == 0 {
			time.Sleep(10 * time.Millisecond)
		}
	}
	return nil
}

// empty is a state machine without a state.
type empty struct{}

func (empty) Apply(*raft.Log) any                 { return nil }
func (empty) Snapshot() (raft.FSMSnapshot, error) { return nil, raft.ErrNothingNewToSnapshot }
func (empty) Restore(r io.ReadCloser) error       { return r.Close() }
