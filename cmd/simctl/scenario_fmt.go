package main

import (
	"bytes"
	"fmt"
	"os"

	"github.com/dustin/go-humanize/english"
	"github.com/spf13/cobra"

	"github.com/simctl/simctl/internal/infile"
	"github.com/simctl/simctl/internal/outfile"
	"github.com/simctl/simctl/scenarios/language"
)

// formatFiles rewrites the files that are not in the canonical layout and prints their
// names; with check it only prints them. A file with an error keeps all from being written.
func formatFiles(cmd *cobra.Command, files []string, check bool) error {
	if err := stdinOnce(files); err != nil {
		return err
	}
	changed := 0
	formatted := make([][]byte, len(files)) // nil = as the file is
	for i, file := range files {
		var err error
		if formatted[i], err = formatFile(cmd, file, check); err != nil {
			return err
		}
	}
	for i, file := range files {
		if formatted[i] == nil {
			continue
		}
		if file == "-" && !check {
			if _, err := cmd.OutOrStdout().Write(formatted[i]); err != nil {
				return err
			}
			continue
		}
		changed++
		if !check {
			if err := rewrite(file, formatted[i]); err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), file); err != nil {
			return err
		}
	}
	if check && changed > 0 {
		return verdictErrorf("%d of %s not formatted: run simctl scenario fmt on what is listed", changed, english.Plural(len(files), "file is", "files are"))
	}
	return nil
}

// formatFile returns the canonical layout of a file; nil if the file has it and nobody waits for its text.
func formatFile(cmd *cobra.Command, file string, check bool) ([]byte, error) {
	text, err := readArgument(cmd, file, infile.MostText)
	if err != nil {
		return nil, usageErrorf("%s: it cannot be read: %w", file, err)
	}
	formatted, err := language.Format(file, text)
	if err != nil {
		return nil, usageErrorf("%w", err)
	}
	if (check || file != "-") && bytes.Equal(text, formatted) {
		return nil, nil
	}
	return formatted, nil
}

// rewrite replaces the text of a file and keeps its mode.
func rewrite(file string, text []byte) error {
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	return outfile.Write(file, text, info.Mode().Perm())
}
