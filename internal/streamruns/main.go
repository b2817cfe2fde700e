// Command streamruns runs a scenario on servers without a leader, on NATS JetStream, and writes
// a Result for each way in which they can work. simctl's reports take these Results like any
// others.
//
// It is a program of its own, so that simctl does not contain a NATS server.
package main

//go:debug randseednop=0

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/streams"
	"github.com/simctl/simctl/scenarios"
)

// The ways in which the servers can work, and what each is called in the place of a broker.
var ways = []struct {
	name string
	opts streams.Options
}{
	{"streams+keep-all", streams.Options{}},
	{"streams", streams.Options{LastOnly: true}},
	{"streams+gather", streams.Options{LastOnly: true, Gather: 500 * time.Millisecond}},
}

func main() {
	if err := runAll(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "streamruns:", err)
		os.Exit(1)
	}
}

func runAll(args []string) error {
	flags := flag.NewFlagSet("streamruns", flag.ExitOnError)
	var names []string
	for _, w := range ways {
		names = append(names, w.name)
	}
	scenario := flags.String("scenario", "heartbeat-storm", "scenario `name`")
	nodes := flags.Int("nodes", 1000, "number of clients")
	seed := flags.Int64("seed", 1, "random seed")
	which := flags.String("broker", strings.Join(names, ","), "which of the ways to run, comma-separated")
	out := flags.String("out", "results/streams", "`directory` that the Results are written to")
	if err := flags.Parse(args); err != nil {
		return err
	}
	// As in the child processes of simctl: with one processor the order of goroutines repeats.
	runtime.GOMAXPROCS(1)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	for _, name := range strings.Split(*which, ",") {
		i := slices.Index(names, name)
		if i < 0 {
			return fmt.Errorf("-broker %q: it must be one of %s", name, strings.Join(names, ", "))
		}
		spec := scenarios.Spec{Scenario: *scenario, Broker: broker.Shedding().String(), Seed: *seed, Vars: map[string]any{"nodes": *nodes}}
		var c *streams.Cluster
		streams.Prepare()
		res, err := scenarios.RunBeside(ctx, spec, name, func(ctx context.Context, cfg cluster.Config) (scenarios.Other, error) {
			var err error
			c, err = streams.Start(ctx, cfg, ways[i].opts)
			return c, err
		}, nil)
		if err != nil && res == nil {
			return err
		}
		if c.Conflicts() > 0 {
			res.Warnings = append(res.Warnings, fmt.Sprintf("%d plans were refused because another of their job came first, and made again", c.Conflicts()))
		}
		if werr := res.WriteFile(filepath.Join(*out, *scenario+"-"+name+".json")); err != nil || werr != nil {
			return errors.Join(err, werr)
		}
		t := res.Totals
		fmt.Printf("%s: %d entries, %d evaluations created, %d processed, %d dropped, %d plans, digest %.12s, %.1f s\n",
			name, t.RaftEntries, t.EvalsCreated, t.EvalsProcessed, t.EvalsCanceled, t.PlansSubmitted, res.Digest(), res.Host.WallS)
	}
	return nil
}
