package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/simctl/simctl/metrics"
)

// newVersionCommand prints the version that the Go tool stamped into the binary. Repeating a
// run takes the same code as well as the same seed.
func newVersionCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print what this binary was built from",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format == "json" {
				return printJSON(cmd, struct {
					Version string `json:"version"`
					Go      string `json:"go"`
					OS      string `json:"os"`
					Arch    string `json:"arch"`
				}{metrics.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH})
			}
			return printVersion(cmd)
		},
	}
	bindFormat(cmd.Flags(), &format)
	return cmd
}

func printVersion(cmd *cobra.Command) error {
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "simctl %s (%s, %s/%s)\n", metrics.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
