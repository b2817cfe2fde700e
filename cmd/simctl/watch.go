package main

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/simctl/simctl/reports"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/serve"
)

// newWatchCommand groups commands that run the scenarios on the wall clock.
func newWatchCommand(needed func(string) bool) *cobra.Command {
	cmd := asGroup("scenario", &cobra.Command{
		Use:   "watch",
		Short: "Run a scenario on the wall clock and watch it live",
	})
	for _, name := range scenarios.Names() {
		run, f := newBuiltinCommand(name, needed(name))
		cmd.AddCommand(watched(run, f, name))
	}
	run, f := newScenarioRunCommand()
	cmd.AddCommand(watched(run, f, "run storm.hcl"))
	return cmd
}

// watched turns a command that runs a scenario into one that runs it on the wall clock.
// example is its arguments in the example.
func watched(run *cobra.Command, f *scenarioFlags, example string) *cobra.Command {
	run.GroupID = ""
	clock := run.Flags().Lookup("clock")
	clock.DefValue = scenarios.ClockWall
	if err := clock.Value.Set(clock.DefValue); err != nil {
		panic(fmt.Sprintf("simctl: the clock %q is refused: %v", clock.DefValue, err))
	}
	f.web.bind(run.Flags())
	run.Long = strings.TrimSuffix(run.Short, ".") + `.

The same as "simctl scenario ` + run.Name() + `", but in real time. A terminal shows the depth of
the queue, the growth of the Raft log, the nodes by status and the phase. Any other stderr
gets a line of progress every few seconds. Several brokers run at the same time and share
the machine, which changes what they measure on the wall clock: watch one at a time if the
figures matter.

With --web a browser shows each run as it goes on, on a page of this machine. What the API of
real servers cannot tell is not on it. Other machines reach it by --listen with
--allow-remote and a token in the environment variable SIMCTL_TOKEN, which the browser asks for as a password.`
	run.Example = fmt.Sprintf("  simctl watch %[1]s --broker shedding\n  simctl watch %[1]s --time-scale 0.1\n  simctl watch %[1]s --web", example)
	return run
}

// webFlags holds the flags of runs that a browser shows.
type webFlags struct {
	on    bool
	at    serve.WatchOptions
	pages *serve.Watched // nil if there are none
}

func (w *webFlags) bind(flags *pflag.FlagSet) {
	w.at.Listen = "127.0.0.1:0"
	flags.BoolVar(&w.on, "web", false, "show each run on a page, whose URL goes to stderr, while it goes on")
	flags.StringVar(&w.at.Listen, "listen", w.at.Listen, "with --web: address of the pages; port 0 takes any that is free")
	flags.BoolVar(&w.at.AllowRemote, "allow-remote", false, "with --web: allow an address that other machines reach")
}

// check says what is wrong with the flags of a command that runs a scenario on that clock.
func (w *webFlags) check(flags *pflag.FlagSet, clock string) error {
	for _, name := range []string{"listen", "allow-remote"} {
		if flag := flags.Lookup(name); !w.on && flag != nil && flag.Changed {
			return usageErrorf("--%s %s: it is about the pages of --web: say --web, too", name, flag.Value)
		}
	}
	switch {
	case !w.on:
		return nil
	case clock != scenarios.ClockWall:
		return usageErrorf("--web: it shows runs in real time: leave out --clock %s", clock)
	}
	w.at.Token = os.Getenv("SIMCTL_TOKEN")
	if err := w.at.Check(); err != nil {
		return usageErrorf("%w", err)
	}
	return nil
}

// open opens a page for each run of a scenario, if there are to be any, and says where they are.
func (w *webFlags) open(cmd *cobra.Command, scenario string, simulated []*scenarios.Compiled, real []scenarios.Real) error {
	if !w.on {
		return nil
	}
	var names []string
	for _, r := range simulated {
		names = append(names, r.Spec().Broker)
	}
	for _, r := range real {
		names = append(names, r.Name)
	}
	w.at.Log = slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
	var runs []serve.WatchedRun
	for _, name := range names {
		var page bytes.Buffer
		if err := reports.LivePage(&page, scenario+", "+name, serve.WatchedSamples, serve.KeptSamples); err != nil {
			return err
		}
		runs = append(runs, serve.WatchedRun{Name: name, Page: page.Bytes()})
	}
	var err error
	if w.pages, err = serve.Watch(w.at, runs); err != nil {
		return err
	}
	for i, name := range names {
		cmd.PrintErrf("%s is shown at %s\n", name, w.pages.URLs[i])
	}
	return nil
}

// follow returns progress that the pages show, too, from that of run number first on.
func (w *webFlags) follow(p progress, first int) progress {
	if w.pages == nil {
		return p
	}
	return onPages{p, w.pages, first}
}

// ended lets a run's page say that it has ended, unless it was broken off.
func (w *webFlags) ended(run int, err error) {
	if w.pages != nil && err == nil {
		w.pages.End(run)
	}
}

func (w *webFlags) close() {
	if w.pages != nil {
		_ = w.pages.Close() // what they showed is in the results
	}
}

// onPages is progress that pages show, too.
type onPages struct {
	progress
	pages *serve.Watched
	first int
}

func (p onPages) update(run int, at scenarios.Progress) {
	p.progress.update(run, at)
	p.pages.Update(p.first+run, at)
}
