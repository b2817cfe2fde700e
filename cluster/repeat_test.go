//go:build !race

// The race detector makes the runtime run goroutines of one instant in random order on
// purpose, and so finds what this test leaves open: see docs/adr/0001.

//go:debug randseednop=0

package cluster

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/simnet"
	"github.com/simctl/simctl/internal/virtualtest"
)

// TestSameSeedSameRun: with every source of randomness seeded and one processor, two
// runs are the same at every sampled instant, elections and a failover included.
func TestSameSeedSameRun(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	run := func() (trace string) {
		virtualtest.Test(t, func(t *testing.T) {
			SeedRaft(7)
			var b strings.Builder
			c := startCluster(t, Config{
				Seed: 7, Policy: broker.Shedding(), NumSchedulers: 2,
				Costs: Costs{
					Cores: 2, Fsync: 300 * time.Microsecond,
					ServerLink: simnet.Link{Latency: 200 * time.Microsecond, Jitter: 100 * time.Microsecond},
					ClientLink: simnet.Link{Latency: 500 * time.Microsecond, Jitter: 500 * time.Microsecond},
					RPC:        RPCCosts{Serve: 100 * time.Microsecond, Send: 50 * time.Microsecond, WaitIndexScan: 200},
					Raft:       RaftCosts{Dispatch: 200 * time.Microsecond, Append: 200 * time.Microsecond, PerKiB: 4 * time.Microsecond},
					FSM:        FSMCosts{Entry: 60 * time.Microsecond, Eval: 60 * time.Microsecond, Node: 60 * time.Microsecond, Alloc: 70 * time.Microsecond},
				},
			})
			note := func() {
				st := c.Stats()
				fmt.Fprintf(&b, "%v %+v\n", time.Now().UnixNano(), st)
			}
			for j := range 3 {
				if _, err := c.RegisterJob(t.Context(), systemJob(fmt.Sprintf("sys-%d", j))); err != nil {
					t.Fatal(err)
				}
			}
			register(t, c, 0, 60)
			note()
			if err := c.StopServer(c.Leader()); err != nil {
				t.Fatal(err)
			}
			for range 400 {
				time.Sleep(100*time.Millisecond + 1)
				note()
			}
			for i := range 3 {
				if s := c.server(i); s != nil {
					fmt.Fprintln(&b, s.Snapshot().Fingerprint())
				}
			}
			trace = b.String()
		})
		return trace
	}
	first := strings.Split(run(), "\n")
	for n := range 3 {
		again := strings.Split(run(), "\n")
		for i := range first {
			if i >= len(again) || first[i] != again[i] {
				t.Fatalf("run %d differs at sample %d:\n%s\n%s", n+2, i, first[i], again[min(i, len(again)-1)])
			}
		}
	}
}
