package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simctl/simctl/internal/infile"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/scenarios/sweep"
)

// stored is a run of a file.
type stored struct {
	*metrics.Result
	path string
}

// loadStored reads the runs of the arguments: result files, baselines, directories of results
// and, as "-", stdin.
func loadStored(cmd *cobra.Command, args []string) ([]stored, error) {
	if err := stdinOnce(args); err != nil {
		return nil, err
	}
	var all []stored
	for _, arg := range args {
		runs, err := loadArgument(cmd, arg)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, usageErrorf("%s: %w: name a result file, a baseline, a directory of results or, for stdin, -", arg, err)
		}
		if err != nil {
			return nil, usageErrorf("%s: %w", arg, err)
		}
		all = append(all, runs...)
	}
	return all, nil
}

// stdinOnce returns a usage error for arguments of which two are stdin: the second one would be empty.
func stdinOnce(args []string) error {
	if i := slices.Index(args, "-"); i >= 0 && slices.Contains(args[i+1:], "-") {
		return usageErrorf("- is given twice, and stdin can be read once: leave one of them out, or name a file for it")
	}
	return nil
}

func loadArgument(cmd *cobra.Command, arg string) ([]stored, error) {
	if info, err := os.Stat(arg); err == nil && info.IsDir() && arg != "-" {
		return loadDirectory(arg)
	}
	text, err := readArgument(cmd, arg, infile.MostData)
	if err != nil {
		return nil, err
	}
	runs, err := metrics.DecodeRuns(text)
	if err != nil {
		return nil, err
	}
	var all []stored
	for _, r := range runs {
		all = append(all, stored{r, arg})
	}
	return all, nil
}

// readArgument reads the file that an argument names, or stdin.
func readArgument(cmd *cobra.Command, arg string, most int64) ([]byte, error) {
	if arg == "-" {
		return infile.ReadFrom(stdin(cmd), most)
	}
	return infile.Read(arg, most)
}

// loadDirectory reads the results of a directory, in the order of their names, and leaves out
// what else a run wrote there.
func loadDirectory(dir string) ([]stored, error) {
	names, err := fs.Glob(os.DirFS(dir), "*.json")
	if err != nil {
		return nil, err
	}
	var all []stored
	for _, name := range names {
		path := filepath.Join(dir, name)
		r, err := metrics.Load(path)
		switch {
		case errors.Is(err, metrics.ErrNotResult):
		case err != nil:
			return nil, fmt.Errorf("%s: %w", name, errors.Unwrap(err))
		default:
			all = append(all, stored{r, path})
		}
	}
	if runs := filepath.Join(dir, sweep.RunsName); len(all) == 0 {
		if info, err := os.Stat(runs); err == nil && info.IsDir() {
			return nil, fmt.Errorf("the directory is a sweep's, whose results are in %s", runs)
		}
		return nil, errors.New("the directory holds no result file: name one that a run wrote")
	}
	return all, nil
}

func resultsOf(runs []stored) []*metrics.Result {
	var out []*metrics.Result
	for _, r := range runs {
		out = append(out, r.Result)
	}
	return out
}

// pairs puts the runs of two sides together by their brokers. A side of one run goes with the
// other side's only run, whatever its broker.
func pairs(older, newer []*metrics.Result, broker string) ([][]*metrics.Result, error) {
	if len(older) == 1 && len(newer) == 1 && broker == "" {
		return [][]*metrics.Result{{older[0], newer[0]}}, nil
	}
	var out [][]*metrics.Result
	for _, o := range older {
		i := slices.IndexFunc(newer, func(n *metrics.Result) bool { return n.Run.Broker == o.Run.Broker })
		if i >= 0 && (broker == "" || broker == o.Run.Broker) {
			out = append(out, []*metrics.Result{o, newer[i]})
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	if broker != "" {
		return nil, usageErrorf("--broker %q: OLD has runs of %s, and NEW of %s: want one of both", broker, brokersOf(older), brokersOf(newer))
	}
	return nil, usageErrorf("OLD has runs of %s, and NEW of %s: name one result on each side to compare different brokers", brokersOf(older), brokersOf(newer))
}

func brokersOf(runs []*metrics.Result) string {
	var names []string
	for _, r := range runs {
		names = append(names, r.Run.Broker)
	}
	return strings.Join(names, ", ")
}
