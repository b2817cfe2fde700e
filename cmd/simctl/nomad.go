package main

import (
	"errors"
	"fmt"
	"text/tabwriter"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/simctl/simctl/internal/nomadproc"
	"github.com/simctl/simctl/scenarios"
)

func newNomadCommand() *cobra.Command {
	cmd := asGroup("command", &cobra.Command{
		Use:   "nomad",
		Short: "Start and end real Nomad servers, and clean up in a cluster",
	})
	cmd.AddCommand(newNomadUpCommand(), newNomadDownCommand(), newNomadStatusCommand(), newNomadCleanupCommand())
	return cmd
}

// bindDir adds the flag for the directory of a cluster.
func bindDir(flags *pflag.FlagSet, dir *string, when string) {
	flags.StringVar(dir, "dir", "", when+"directory of the cluster (default simctl/nomad in the user's directory for caches)")
}

// clusterDir returns the directory that a command means.
func clusterDir(dir string) (string, error) {
	if dir != "" {
		return dir, nil
	}
	dir, err := nomadproc.DefaultDir()
	if err != nil {
		return "", usageErrorf("%w: name one with --dir", err)
	}
	return dir, nil
}

func newNomadUpCommand() *cobra.Command {
	dir, bin, schedulers := "", "", 0
	set := nomadproc.Settings{Servers: 3}
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Start real Nomad servers on loopback and wait for their leader",
		Long: `Start real Nomad servers on loopback and wait for their leader. The program is yours; any
release from 1.4 on will do. The servers run on when simctl has ended, until simctl nomad
down. What an up that was killed left behind is cleaned up first.

The servers keep their configuration, data and logs in the directory. They have Nomad's
defaults, but for these: raft_multiplier is 1, a client's address may open any number of
connections, and metrics are to be had in the format of Prometheus, which simctl reads.`,
		Example: `  simctl nomad up --bin ./nomad --servers 3
  simctl nomad up --bin ./nomad --num-schedulers 0 --dir /tmp/mine`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if bin == "" {
				return usageErrorf("--bin is missing: it must be the path of a Nomad program, such as ./nomad")
			}
			if cmd.Flags().Changed("num-schedulers") {
				set.NumSchedulers = &schedulers
			}
			where, err := clusterDir(dir)
			if err != nil {
				return err
			}
			c, err := nomadproc.Start(cmd.Context(), where, bin, set, false)
			if err != nil {
				return nomadError(err)
			}
			return printServers(cmd, c)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&bin, "bin", "", "path of the Nomad program")
	flags.IntVar(&set.Servers, "servers", set.Servers, fmt.Sprintf("number of servers, 1 to %d", nomadproc.MaxServers))
	flags.IntVar(&schedulers, "num-schedulers", 0, "scheduler workers of each server (default: Nomad's, one for each core)")
	flags.Float64Var(&set.MaxHeartbeatsPerSecond, "max-heartbeats-per-second", 0, "heartbeats a second that the leader spreads the clients over (default: Nomad's)")
	flags.DurationVar(&set.MinHeartbeatTTL, "min-heartbeat-ttl", 0, "shortest heartbeat TTL, such as 10s (default: Nomad's)")
	flags.DurationVar(&set.HeartbeatGrace, "heartbeat-grace", 0, "time after the TTL before a node is down, such as 10s (default: Nomad's)")
	bindDir(flags, &dir, "")
	return cmd
}

// nomadError makes errors that the user can correct usage errors.
func nomadError(err error) error {
	for _, known := range []error{nomadproc.ErrProgram, nomadproc.ErrExists, nomadproc.ErrNone, nomadproc.ErrSetting} {
		if errors.Is(err, known) {
			return usageErrorf("%w", err)
		}
	}
	return err
}

func newNomadDownCommand() *cobra.Command {
	dir := ""
	cmd := &cobra.Command{
		Use:   "down",
		Short: "End the servers that simctl nomad up started, and remove their data",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			where, err := clusterDir(dir)
			if err != nil {
				return err
			}
			ended, err := nomadproc.ClearHeld(where)
			if err != nil {
				return err
			}
			for range ended {
				cmd.PrintErrf("ended a cluster that a killed scenario had left\n")
			}
			c, err := nomadproc.Open(where)
			if errors.Is(err, nomadproc.ErrNone) && ended > 0 {
				return nil
			}
			if err == nil {
				err = c.Down()
			}
			if err != nil {
				return nomadError(err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "ended %s of Nomad %s in %s\n", english.Plural(len(c.Servers), "server", ""), c.Version, c.Dir)
			return err
		},
	}
	bindDir(cmd.Flags(), &dir, "")
	return cmd
}

func newNomadStatusCommand() *cobra.Command {
	dir := ""
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the servers that simctl nomad up started",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			where, err := clusterDir(dir)
			if err != nil {
				return err
			}
			c, err := nomadproc.Open(where)
			if err != nil {
				return nomadError(err)
			}
			return printServers(cmd, c)
		},
	}
	bindDir(cmd.Flags(), &dir, "")
	return cmd
}

func newNomadCleanupCommand() *cobra.Command {
	f := &elsewhereFlags{}
	cmd := &cobra.Command{
		Use:   "cleanup",
		Short: "Remove from a cluster what a killed scenario has left in it",
		Long: `Remove from a cluster what a scenario has left in it that was killed (--target nomad --address):
purge the jobs and nodes that carry its mark, and set schedulers and broker as they were. The
next scenario in that cluster does the same before it begins.

It works from any machine. Only if the scenario was killed before it registered a job does
that machine alone know how schedulers and broker were.`,
		Example: `  simctl nomad cleanup --address http://10.0.0.1:4646,http://10.0.0.2:4646`,
		Args:    noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			dir, err := clusterDir(f.dir)
			if err != nil {
				return err
			}
			done, err := scenarios.CleanUp(cmd.Context(), f.Elsewhere, dir)
			if errors.Is(err, scenarios.ErrReal) {
				return usageErrorf("%w", err)
			}
			if done != "" {
				_, werr := fmt.Fprintln(cmd.OutOrStdout(), done)
				err = errors.Join(err, werr)
			}
			return err
		},
	}
	f.bind(cmd.Flags(), "")
	return cmd
}

// printServers prints a line for each server, and how the nomad command reaches the cluster.
func printServers(cmd *cobra.Command, c *nomadproc.Cluster) error {
	all, err := c.Status(cmd.Context())
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "SERVER\tPROCESS\tHTTP\tRPC\tSTATE\n")
	for _, s := range all {
		state := "follows"
		switch {
		case s.Silent != "":
			state = s.Silent
		case s.Leads:
			state = "leads"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", s.Name, s.PID, s.HTTP, s.RPC, state)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "\nNomad %s in %s\nNOMAD_ADDR=http://%s\n", c.Version, c.Dir, all[0].HTTP)
	return err
}
