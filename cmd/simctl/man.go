package main

import (
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/simctl/simctl/metrics"
)

func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man DIR",
		Short: "Write the manual pages of all commands",
		Long: `Write a manual page for every command into a directory: simctl.1, simctl-gate.1 and so on.
man -l shows one, and a directory man1 below one of those that manpath lists is where man
looks for them. Pages have the date of today, or that of $SOURCE_DATE_EPOCH.`,
		Example: `  simctl man man1
  man -l man1/simctl-gate.1`,
		Args: takes(1, 1, "the directory to write to, got %d"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return writeManual(cmd, args[0])
		},
	}
}

// writeManual writes all pages or, if one fails, none.
func writeManual(cmd *cobra.Command, target string) (err error) {
	out, err := newDirOf(strconv.Quote(target), target)
	if err != nil {
		return err
	}
	defer func() { err = out.discard(err) }()
	root := newRootCommand([]string{"help"}) // with the flags of all scenarios
	root.DisableAutoGenTag = true
	header := doc.GenManHeader{Section: "1", Source: "simctl " + metrics.Version(), Manual: "simctl"}
	if err := doc.GenManTree(root, &header, out.path("")); err != nil {
		return fmt.Errorf("write the manual pages: %w", err)
	}
	pages, err := fs.Glob(os.DirFS(out.path("")), "*.1")
	if err != nil {
		return err
	}
	if err := out.commit(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "wrote %s to %s\n", english.Plural(len(pages), "manual page", ""), target)
	return err
}
