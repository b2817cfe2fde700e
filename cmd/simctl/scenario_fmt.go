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
// names; with check it only prints them.
func formatFiles(cmd *cobra.Command, files []string, check bool) error {
	changed := 0
	for _, file := range files {
		differs, err := formatFile(cmd, file, check)
		if err != nil {
			return err
		}
		if differs {
			changed++
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), file); err != nil {
				return err
			}
		}
	}
	if check && changed > 0 {
		return verdictErrorf("%d of %s not formatted: run simctl scenario fmt on what is listed", changed, english.Plural(len(files), "file is", "files are"))
	}
	return nil
}

func formatFile(cmd *cobra.Command, file string, check bool) (differs bool, err error) {
	var text []byte
	if file == "-" {
		text, err = infile.ReadFrom(cmd.InOrStdin(), infile.MostText)
	} else {
		text, err = infile.Read(file, infile.MostText)
	}
	if err != nil {
		return false, usageErrorf("%s: it cannot be read: %w", file, err)
	}
	formatted, err := language.Format(file, text)
	if err != nil {
		return false, usageErrorf("%w", err)
	}
	if file == "-" {
		_, err := cmd.OutOrStdout().Write(formatted)
		return false, err
	}
	if differs = !bytes.Equal(text, formatted); !differs || check {
		return differs, nil
	}
	info, err := os.Stat(file)
	if err != nil {
		return true, err
	}
	return true, outfile.Write(file, formatted, info.Mode().Perm())
}
