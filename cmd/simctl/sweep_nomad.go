package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/pflag"

	"github.com/simctl/simctl/scenarios/sweep"
	"github.com/simctl/simctl/scenarios/sweep/nomad"
)

// Executors of a sweep.
const (
	localExecutor = "local"
	nomadExecutor = "nomad"
)

// nomadFlags holds the flags of sweep about the Nomad cluster it runs on. Address, token,
// region and namespace come from the environment, as for the nomad command: NOMAD_ADDR and
// so on.
type nomadFlags struct {
	job     nomad.Job
	results string
}

func (f *nomadFlags) bind(flags *pflag.FlagSet) {
	f.job.ID = nomad.DefaultJob
	flags.StringVar(&f.job.ID, "nomad-job", f.job.ID, "name of the job that cells are dispatched to")
	flags.StringVar(&f.results, "nomad-results", "", "directory in which the results of cells appear (default: read them from the logs)")
	flags.StringVar(&f.job.Volume, "nomad-volume", "", "with --print-job: host volume for the results, the directory of --nomad-results")
	flags.Var(names(&f.job.Datacenters), "nomad-datacenters", "with --print-job: where cells may run (default all, which needs Nomad 1.5)")
	flags.StringVar(&f.job.Driver, "nomad-driver", "exec", "with --print-job: task driver")
	flags.StringVar(&f.job.Artifact, "nomad-artifact", "", "with --print-job: where clients fetch simctl from")
	flags.StringVar(&f.job.Image, "nomad-image", "", "with --print-job: container image that holds simctl")
	flags.StringVar(&f.job.Command, "nomad-command", "", "with --print-job: path of simctl on the client or in the image")
}

// unneeded returns an error if there are flags of a cluster that the sweep does not run on, or of
// a job that it does not print.
func (f *nomadFlags) unneeded(flags *pflag.FlagSet, executor string, printJob bool) (err error) {
	flags.Visit(func(flag *pflag.Flag) {
		said := fmt.Sprintf("--%s %q", flag.Name, flag.Value)
		switch {
		case flag.Name == "nomad-job" && printJob, !strings.HasPrefix(flag.Name, "nomad-"):
		case flag.Name != "nomad-job" && flag.Name != "nomad-results":
			if !printJob {
				err = usageErrorf("%s: only the job that is printed has it: say --print-job, too", said)
			}
		case executor != nomadExecutor:
			err = usageErrorf("%s: the executor is %s: say --executor nomad, too", said, executor)
		}
	})
	return err
}

// newExecutor returns the executor for the cluster that the environment names. The executor
// calls waits with the reasons why cells wait to be placed.
func (f *nomadFlags) newExecutor(ctx context.Context, parallel int, waits func(why string)) (sweep.Executor, error) {
	if f.results != "" {
		if info, err := os.Stat(f.results); err != nil || !info.IsDir() {
			return nil, usageErrorf("--nomad-results %q: it must be an existing directory, where the results of cells appear", f.results)
		}
	}
	address, err := apiAddress("", false)
	if err != nil {
		return nil, err
	}
	n, err := nomad.Connect(ctx, address, nomad.Config{Job: f.job.ID, Side: parallel, Results: f.results, Waits: waits})
	if errors.Is(err, nomad.ErrNoJob) {
		return nil, usageErrorf("%w", err)
	}
	if err != nil {
		// Errors of the API have several lines.
		return nil, fmt.Errorf("--executor nomad: %s", strings.Join(strings.Fields(err.Error()), " "))
	}
	return n, nil
}
