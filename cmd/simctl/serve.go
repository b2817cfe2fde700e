package main

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports"
	"github.com/simctl/simctl/scenarios/serve"
)

func newServeCommand() *cobra.Command {
	o := serve.Options{Servers: 3, Schedulers: runtime.NumCPU(), Broker: "shedding", Seed: 1, TimeScale: 1, HTTPAddr: "127.0.0.1:4646", RPCAddr: "127.0.0.1:4647"}
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a simulated cluster to Nomad's own tools",
		Long: `Run a simulated cluster on the wall clock and serve Nomad's HTTP API and client RPC for it.
The nomad command and programs that use its API client work against it: they register jobs,
drain nodes and pause the broker. Clients are those of --nodes, in the same process, and
those of others that join by RPC, real Nomad agents included.

A browser shows the queues, the Raft log and the nodes as they are at the address of the API.

It ends at Ctrl-C, SIGTERM or SIGHUP. Nothing is kept, unless --data-dir names a directory:
the next serve with it goes on from all that was acknowledged, after a crash, too.

With --tls-ca, --tls-cert and --tls-key, servers speak TLS only, as Nomad's do with http and
rpc of their tls block: clients of RPC need a certificate of the same authority, and users
of the API need none.

The listeners are on this machine's loopback address. Any other address, which only the HTTP
API can have, takes --allow-remote and a token in the environment variable SIMCTL_TOKEN, which clients send as NOMAD_TOKEN.`,
		Example: `  simctl serve --nodes 500
  NOMAD_ADDR=http://127.0.0.1:4646 nomad node status
  simctl serve --nodes 5000 --broker legacy --time-scale 0.1
  simctl serve --data-dir ~/cluster`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return runServe(cmd, o) },
	}
	flags := cmd.Flags()
	flags.IntVar(&o.Servers, "servers", o.Servers, "number of servers")
	flags.IntVar(&o.Schedulers, "schedulers", o.Schedulers, "scheduler workers of each server")
	flags.Lookup("schedulers").DefValue = "one for each core"
	flags.IntVar(&o.Nodes, "nodes", 0, "number of simulated clients in this process")
	flags.StringVar(&o.Broker, "broker", o.Broker, "evaluation broker, or a release of Nomad")
	flags.Int64Var(&o.Seed, "seed", o.Seed, "seed of the simulated clients and servers")
	flags.Float64Var(&o.TimeScale, "time-scale", o.TimeScale, "factor on all durations")
	flags.StringVar(&o.DataDir, "data-dir", "", "directory to keep the servers' Raft logs and snapshots in; empty = in memory")
	flags.StringVar(&o.HTTPAddr, "http-addr", o.HTTPAddr, "address of the HTTP API; port 0 takes any that is free")
	flags.StringVar(&o.RPCAddr, "rpc-addr", o.RPCAddr, "address of the first server's client RPC, the next ones follow; empty = none")
	flags.BoolVar(&o.AllowRemote, "allow-remote", false, "allow addresses that other machines reach")
	bindTLS(flags, &o.TLS, "the clients' certificates", "certificate of the servers, for server.global.nomad: then they speak TLS only")
	return cmd
}

// runServe serves what the flags say, until it is interrupted.
func runServe(cmd *cobra.Command, o serve.Options) error {
	if err := checkName(fmt.Sprintf("--data-dir %q", o.DataDir), o.DataDir); err != nil {
		return err
	}
	o.Token = os.Getenv("SIMCTL_TOKEN")
	o.Log = slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), nil))
	if err := o.Check(); err != nil {
		return usageErrorf("%w", err)
	}
	servers, clients := english.Plural(o.Servers, "server", ""), english.Plural(o.Nodes, "client", "")
	var page bytes.Buffer
	title := fmt.Sprintf("Simulated cluster under the %s broker: %s, %s", o.Broker, servers, clients)
	if err := reports.LivePage(&page, title, serve.SamplesPath, serve.KeptSamples); err != nil {
		return err
	}
	o.Page, o.Build = page.Bytes(), metrics.Version()
	ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGHUP)
	defer stop()
	err := serve.Run(ctx, o, func(w serve.Where) {
		cmd.PrintErrf("%s and %s; end with Ctrl-C\n", servers, clients)
		if w.RPC != nil {
			cmd.PrintErrf("client RPC at %v\n", w.RPC)
		}
		for _, variable := range w.Env {
			cmd.PrintErrf("export %s\n", variable)
		}
	})
	if bad, ok := errors.AsType[*serve.DataDirError](err); ok {
		return usageErrorf("%w", bad)
	}
	return err
}
