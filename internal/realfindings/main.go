// Command realfindings tries findings of docs/findings on real servers: those that a scenario cannot show,
// because they take a worker that does one thing at one moment. It starts servers that have no workers, is
// their workers itself, over Nomad's own RPC, and says what comes out.
//
//	go run ./internal/realfindings -bin nomad-2.0.5 overfilled-nodes
//
// What it does is what Nomad's workers may do: they ask for evaluations, submit plans, and acknowledge or
// give back. Only the moments are chosen.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/simctl/simctl/internal/nomadproc"
)

// trial is a finding to be tried.
type trial struct {
	servers int
	try     func(*lab)
}

var trials = map[string]trial{
	"dropped-batch":      {3, droppedBatch},
	"forgotten-plan":     {1, forgottenPlan},
	"last-slot-peek":     {1, lastSlotPeek},
	"lost-followup":      {1, lostFollowup},
	"nacked-plan":        {1, nackedPlan},
	"overfilled-nodes":   {1, overfilledNodes},
	"paused-reaper":      {1, pausedReaper},
	"refused-again":      {1, refusedAgain},
	"restored-backlog":   {3, restoredBacklog},
	"shed-ids-stay":      {1, shedIDsStay},
	"stale-verification": {1, staleVerification},
}

func main() {
	bin := flag.String("bin", "", "path of the Nomad program")
	flag.Usage = func() {
		fmt.Fprintf(os.Stderr, "usage: realfindings -bin PROGRAM FINDING, which is one of %s\n", strings.Join(slices.Sorted(maps.Keys(trials)), ", "))
	}
	flag.Parse()
	t, ok := trials[flag.Arg(0)]
	if !ok || *bin == "" || flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *bin, t, conditions{os.Stdout, 1000, 1}); err != nil {
		fmt.Fprintln(os.Stderr, "realfindings:", err)
		os.Exit(1)
	}
}

// run starts servers, has a finding tried on them, and ends them.
func run(ctx context.Context, bin string, t trial, under conditions) (err error) {
	dir, err := os.MkdirTemp("", "realfindings")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	none := 0
	cluster, err := nomadproc.Start(ctx, filepath.Join(dir, "cluster"), bin, nomadproc.Settings{Servers: t.servers, NumSchedulers: &none, MinHeartbeatTTL: time.Hour}, true)
	if err != nil {
		return err
	}
	defer func() {
		if down := cluster.Down(); err == nil {
			err = down
		}
	}()
	defer caught(&err)
	l := &lab{Cluster: cluster, ctx: ctx, conditions: under}
	l.dial(0)
	defer func() { l.rpc.Close() }()
	l.say("Nomad %s, %d of them", cluster.Version, t.servers)
	t.try(l)
	return nil
}
