// Command streamruns runs a scenario on servers without a leader, on NATS JetStream, and writes
// a Result for each way in which they can work. simctl's reports take these Results like any
// others.
//
// It is a program of its own, so that simctl does not contain a NATS server.
package main

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
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios"
)

// way is a way in which the servers can work, and what it is called in the place of a broker.
type way struct {
	name string
	opts streams.Options
}

var ways = []way{
	{"streams+keep-all", streams.Options{}},
	{"streams", streams.Options{LastOnly: true}},
	{"streams+partition", streams.Options{LastOnly: true, Partition: true}},
	{"streams+gather", streams.Options{LastOnly: true, Gather: 500 * time.Millisecond}},
}

func main() {
	if err := command(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "streamruns:", err)
		os.Exit(1)
	}
}

func command(args []string) error {
	var names []string
	for _, w := range ways {
		names = append(names, w.name)
	}
	flags := flag.NewFlagSet("streamruns", flag.ContinueOnError)
	scenario := flags.String("scenario", "heartbeat-storm", "scenario `name`")
	nodes := flags.Int("nodes", 1000, "number of clients")
	seed := flags.Int64("seed", 1, "random seed")
	which := flags.String("broker", strings.Join(names, ","), "which of the ways to run, comma-separated")
	out := flags.String("out", "results/streams", "`directory` that the Results are written to")
	page := flags.String("page", "", "run nothing, and write tables of the Results in the directories that follow into this `file`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *page != "" {
		return writePage(*page, flags.Args())
	}
	var chosen []way
	for _, name := range strings.Split(*which, ",") {
		i := slices.Index(names, name)
		if i < 0 {
			return fmt.Errorf("-broker %q: it must be one of %s", name, strings.Join(names, ", "))
		}
		chosen = append(chosen, ways[i])
	}
	if err := os.MkdirAll(*out, 0o755); err != nil {
		return err
	}
	// As in the child processes of simctl: with one processor the order of goroutines repeats.
	runtime.GOMAXPROCS(1)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	for _, w := range chosen {
		res, err := w.run(ctx, *scenario, *nodes, *seed)
		if res == nil {
			return err
		}
		if werr := res.WriteFile(filepath.Join(*out, w.name+".json")); err != nil || werr != nil {
			return errors.Join(err, werr)
		}
		t := res.Totals
		fmt.Printf("%s: %d entries, %d evaluations created, %d processed, %d dropped, %d plans, digest %.12s, %.1f s\n",
			w.name, t.RaftEntries, t.EvalsCreated, t.EvalsProcessed, t.EvalsCanceled, t.PlansSubmitted, res.Digest(), res.Host.WallS)
	}
	return nil
}

// run runs a scenario that way.
func (w way) run(ctx context.Context, scenario string, nodes int, seed int64) (*metrics.Result, error) {
	streams.Prepare()
	spec := scenarios.Spec{Scenario: scenario, Broker: broker.Shedding().String(), Seed: seed, Vars: map[string]any{"nodes": nodes}}
	var c *streams.Cluster
	res, err := scenarios.RunBeside(ctx, spec, w.name, func(ctx context.Context, cfg cluster.Config) (_ scenarios.Other, err error) {
		c, err = streams.Start(ctx, cfg, w.opts)
		return c, err
	}, nil)
	if res != nil && c.Conflicts() > 0 {
		res.Warnings = append(res.Warnings, fmt.Sprintf("%d plans were refused because another of their job came first, and made again", c.Conflicts()))
	}
	return res, err
}
