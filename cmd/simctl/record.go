package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/record"
)

type recordFlags struct {
	cfg     record.Config
	address string
	out     string
	quiet   bool
}

func newRecordCommand() *cobra.Command {
	f := &recordFlags{}
	cmd := &cobra.Command{
		Use:   "record",
		Short: "Record a Nomad cluster as a scenario",
		Long: `Write a scenario file of a Nomad cluster: its servers and schedulers, its nodes by what they
have in common, and its jobs. With --for, the command also follows the cluster's events, and
the scenario replays them: nodes that went down and came back, in a trace beside the file, and
jobs that were registered, changed and stopped. Ctrl-C ends the recording early.

The command reads only. Token, region and certificates come from the environment, as for
the nomad command: NOMAD_TOKEN and so on. What a scenario cannot say is listed at the top
of the file.`,
		Example: `  simctl record --out mine.hcl
  simctl record --address http://10.0.0.1:4646 --for 30m --hash-names \
      --out mine.hcl
  simctl scenario run mine.hcl`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.address, "address", "", "address of the HTTP API (default: NOMAD_ADDR, or http://127.0.0.1:4646)")
	flags.Var(newChecked(&f.cfg.For, "duration", parsePatience), "for", "how long to follow events (default: not at all)")
	flags.Lookup("for").DefValue = ""
	flags.BoolVar(&f.cfg.HashNames, "hash-names", false, "hide the names of jobs, groups, datacenters and classes")
	flags.StringVar(&f.out, "out", "", "scenario file to write; what it names is written beside it")
	flags.BoolVar(&f.quiet, "quiet", false, "print no progress")
	return cmd
}

func (f *recordFlags) run(cmd *cobra.Command) error {
	dir, file := filepath.Split(f.out)
	name, isHCL := strings.CutSuffix(file, ".hcl")
	if !isHCL || name == "" {
		return usageErrorf("--out %q: it must be the scenario file to write, such as mine.hcl", f.out)
	}
	known := []string{f.out}
	if f.cfg.For > 0 {
		known = append(known, filepath.Join(dir, name+".trace"))
	}
	if err := f.free(known); err != nil {
		return err
	}
	if err := checkFile("--out", f.out); err != nil {
		return err
	}
	address, err := apiAddress(f.address, cmd.Flags().Changed("address"))
	if err != nil {
		return err
	}
	f.cfg.Name, f.cfg.API = name, record.Address(address)
	last := record.Progress{}
	began := false
	f.cfg.Tell = func(p record.Progress) {
		if last = p; !f.quiet && !began && f.cfg.For > 0 {
			cmd.PrintErrf("%s; following events for %v, Ctrl-C ends it\n", p, f.cfg.For.Round(time.Second))
		}
		began = true
	}
	r, err := record.Take(cmd.Context(), f.cfg)
	if err != nil {
		return err
	}
	if err := f.write(r); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s\nsimctl scenario run %s\n", f.out, last, scenarios.Quote(f.out))
	return err
}

// free returns a usage error if there is one of the files already.
func (f *recordFlags) free(paths []string) error {
	for _, path := range paths {
		what := path
		if path == f.out {
			what = "it"
		}
		if _, err := os.Lstat(path); err == nil {
			return usageErrorf("--out %q: %s exists already: choose another name, or remove it first", f.out, what)
		}
	}
	return nil
}

// write writes all files of a recording or none, the scenario last.
func (f *recordFlags) write(r *record.Recording) error {
	var paths []string
	texts := map[string][]byte{f.out: r.Scenario}
	for _, name := range slices.Sorted(maps.Keys(r.Files)) {
		path := filepath.Join(filepath.Dir(f.out), name)
		paths, texts[path] = append(paths, path), r.Files[name]
	}
	paths = append(paths, f.out)
	if err := f.free(paths); err != nil {
		return err
	}
	for i, path := range paths {
		if err := writeFile(path, texts[path]); err != nil {
			for _, written := range paths[:i] {
				err = errors.Join(err, os.Remove(written))
			}
			return err
		}
	}
	return nil
}
