package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/simctl/simctl/scenarios"
)

//go:embed starter.hcl
var starter []byte

func newInitCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "init [FILE]",
		Short: "Write a commented scenario file to start from",
		Long: `Write a small scenario with comments, which validates and runs, as a start for one of your
own. FILE is scenario.hcl by default; a file that is there already stays as it is.`,
		Example: `  simctl init mine.hcl
  simctl scenario run mine.hcl --var nodes=50`,
		Args: atMost(1, "one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path := "scenario.hcl"
			if len(args) > 0 {
				path = args[0]
			}
			if path == "" || path == "-" {
				return usageErrorf("%q: name a file, such as scenario.hcl", path)
			}
			info, err := os.Lstat(path)
			if err == nil && info.IsDir() {
				return usageErrorf("%s: it is a directory: name a file, such as %s", path, filepath.Join(path, "scenario.hcl"))
			}
			if !errors.Is(err, fs.ErrNotExist) {
				return usageErrorf("%s: there is such a file already: name another one", path)
			}
			if err := checkFile("FILE", path); err != nil {
				return err
			}
			if err := writeFile(path, starter); err != nil {
				return usageErrorf("the scenario cannot be written: %w", err)
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %s: run it by simctl scenario run %s\n", path, scenarios.Quote(path))
			return err
		},
	}
}
