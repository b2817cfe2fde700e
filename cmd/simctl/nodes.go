package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/simctl/simctl/internal/nomadtls"
	"github.com/simctl/simctl/nodesim/remote"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/nodes"
)

type nodesFlags struct {
	cfg       nodes.Config
	behaviour string
	vars      assignments
	tls       nomadtls.Files
	local     []string
	duration  time.Duration
	quiet     bool
}

func newNodesCommand() *cobra.Command {
	f := &nodesFlags{cfg: nodes.Config{
		Count: 1000, Seed: 1, Drivers: []string{"docker", "exec", "java", "mock_driver", "qemu", "raw_exec"},
		Servers: remote.Config{Connections: remote.DefaultConnections, Region: remote.DefaultRegion, Release: remote.NewestRelease},
	}}
	cmd := &cobra.Command{
		Use:   "nodes",
		Short: "Run simulated clients against real Nomad servers",
		Long: `Run simulated clients against the servers of a Nomad cluster, in real time, over Nomad's own
RPC. The clients register, heartbeat, watch their allocations and report them as running
or complete, as Nomad's clients of a release do. They run nothing.

The clients live until Ctrl-C, or as long as --for says. Then the servers miss their
heartbeats and mark the nodes as down. The same seed brings the same nodes back; several
processes need a seed each. Use a cluster that is meant for tests: its servers place
allocations on the nodes as on any others.`,
		Example: `  simctl nodes --server 127.0.0.1:4647 --count 5000
  simctl nodes --server 10.0.0.1:4647,10.0.0.2:4647,10.0.0.3:4647 \
      --nomad-version 1.4.3
  simctl nodes --server 127.0.0.1:4647 --behaviour flapping --var nodes=500`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	s := &f.cfg.Servers
	flags.StringSliceVar(&s.Addresses, "server", nil, "RPC addresses of the servers, HOST:PORT with commas between them (may be repeated; clients start on them in turn)")
	flags.IntVar(&f.cfg.Count, "count", f.cfg.Count, "number of clients")
	flags.StringVar(&f.behaviour, "behaviour", "", "scenario, by file or name, whose groups of clients and behaviours to use instead of --count")
	f.vars.bind(flags)
	flags.Int64Var(&f.cfg.Seed, "seed", f.cfg.Seed, "who the clients are")
	flags.Var(newChecked(&f.cfg.RegisterOver, "duration", parsePatience), "register-over", "time over which the clients register (default 10s)")
	flags.Var(newChecked(&f.duration, "duration", parsePatience), "for", "how long the clients live (default: until Ctrl-C)")
	for _, name := range []string{"register-over", "for"} {
		flags.Lookup(name).DefValue = ""
	}
	flags.StringVar(&s.Release, "nomad-version", s.Release, "release whose clients they are: their habits, and what the nodes say they are")
	flags.Var(names(&f.cfg.Drivers), "drivers", "drivers of each node")
	flags.StringVar(&s.Region, "region", s.Region, "region of the servers")
	flags.StringVar(&s.IntroToken, "intro-token", "", "introduction token for the first registration of each node")
	bindTLS(flags, &f.tls, "the servers' certificates", "certificate of the clients")
	flags.IntVar(&s.Connections, "connections", s.Connections, "connections to each server, which the clients share")
	flags.StringSliceVar(&f.local, "local-addr", nil, "IP addresses that connections come from, with commas between them (may be repeated; they take turns)")
	flags.BoolVar(&f.quiet, "quiet", false, "print no progress")
	return cmd
}

func (f *nodesFlags) run(cmd *cobra.Command) error {
	if err := f.complete(cmd); err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGHUP)
	defer stop()
	if f.duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.duration)
		defer cancel()
	}
	show := &nodesView{w: cmd.ErrOrStderr(), quiet: f.quiet, terminal: isTerminal(cmd.ErrOrStderr())}
	f.cfg.Servers.Refused = func(server string) {
		fmt.Fprintf(cmd.ErrOrStderr(), "simctl: server %s closes connections beyond its limit for an address (limits.rpc_max_conns_per_client, 100 by default): "+
			"clients share those that it leaves open, and the others are tried again; raise the limit, let them come from more addresses (--local-addr) or ask for fewer (--connections)\n", server)
	}
	last, err := nodes.Run(ctx, f.cfg, show.update)
	show.close()
	if _, ok := errors.AsType[nodes.InputError](err); ok {
		return usageErrorf("%w", err)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(cmd.OutOrStdout(), last.Summary())
	return err
}

// complete turns the flags that are texts into what they stand for.
func (f *nodesFlags) complete(cmd *cobra.Command) error {
	if len(f.cfg.Servers.Addresses) == 0 {
		return usageErrorf("--server is missing: give the RPC address of at least one server, such as --server 127.0.0.1:4647")
	}
	if f.cfg.Count < 1 || f.cfg.Count > nodes.MaxNodes {
		return usageErrorf("--count %d: it must be 1 to %d", f.cfg.Count, nodes.MaxNodes)
	}
	if n := f.cfg.Servers.Connections; n < 1 {
		return usageErrorf("--connections %d: it must be at least 1, to each server", n)
	}
	for _, text := range f.local {
		addr, err := netip.ParseAddr(text)
		if err != nil {
			return usageErrorf("--local-addr %q: it must be an IP address of this machine", text)
		}
		f.cfg.Servers.Local = append(f.cfg.Servers.Local, addr)
	}
	var err error
	if f.cfg.Servers.TLS, err = f.tls.Client(f.cfg.Servers.Region); err != nil {
		return usageErrorf("--tls-ca, --tls-cert, --tls-key: %w", err)
	}
	if f.behaviour == "" {
		if len(f.vars.values) > 0 {
			return usageErrorf("--var without --behaviour: there is no scenario that has variables")
		}
		return nil
	}
	if cmd.Flags().Changed("count") {
		return usageErrorf("--count and --behaviour: the scenario says how many clients there are; set its variable, such as --var nodes=%d", f.cfg.Count)
	}
	flags := newScenarioFlags(scenarios.Spec{Force: true})
	if err := flags.load(cmd, f.behaviour, &f.vars); err != nil {
		return err
	}
	if f.cfg.Scenario, err = scenarios.Compile(flags.spec); err != nil {
		return flags.inputError(err, nil)
	}
	return nil
}

// nodesView shows how the clients do: in one line of a terminal, or else in a line now and
// then.
type nodesView struct {
	w               io.Writer
	quiet, terminal bool
	drawn           bool
	due             time.Duration
}

// nodesEvery is the time between two lines.
const nodesEvery = 10 * time.Second

func (v *nodesView) update(s nodes.Status) {
	const clear, noWrap, wrap = "\r\x1b[K", "\x1b[?7l", "\x1b[?7h"
	switch {
	case v.quiet:
	case v.terminal:
		v.drawn = true
		fmt.Fprint(v.w, clear+noWrap+s.Line()+wrap)
	case s.Elapsed >= v.due:
		v.due = s.Elapsed.Truncate(time.Second) + nodesEvery
		fmt.Fprintf(v.w, "%4.0f s: %s\n", s.Elapsed.Seconds(), s.Line())
	}
}

func (v *nodesView) close() {
	if v.drawn {
		fmt.Fprintln(v.w)
	}
}
