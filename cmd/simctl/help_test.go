package main

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// TestHelpFitsATerminal looks at the help of every command, hidden ones included. An address that
// cannot be broken may be longer, on a line of its own.
func TestHelpFitsATerminal(t *testing.T) {
	looked := 0
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		looked++
		var help bytes.Buffer
		cmd.InitDefaultHelpFlag()
		cmd.SetOut(&help)
		if err := cmd.Help(); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(help.String()) {
			line = strings.TrimRight(line, "\n")
			if utf8.RuneCountInString(line) > helpWidth && len(strings.Fields(line)) > 2 {
				t.Errorf("%s --help has a line of %d columns:\n%s", cmd.CommandPath(), utf8.RuneCountInString(line), line)
			}
		}
		for _, c := range cmd.Commands() {
			look(c)
		}
	}
	look(newRootCommand([]string{"help"}))
	if looked < 50 {
		t.Errorf("looked at the help of %d commands: there are more", looked)
	}
}

func TestFitted(t *testing.T) {
	words := strings.TrimSpace(strings.Repeat("word ", 20))
	for text, want := range map[string]string{
		"":        "",
		"short\n": "short\n",
		"lines of\none paragraph\n\nand another\n": "lines of one paragraph\n\nand another\n",
		words + "\n":                               words[:79] + "\n" + words[80:] + "\n",
		"Flags:\n  --a int   " + words + "\n":      "Flags:\n  --a int   " + words[:64] + "\n            " + words[65:] + "\n",
		"  a-command A" + words + "\n":             "  a-command A" + words[:64] + "\n            " + words[65:] + "\n",
		"  simctl run " + words + "\n":             "  simctl run " + words + "\n",
		"  a name   ends\n\tstays " + words + "\n": "  a name   ends\n\tstays " + words + "\n",
	} {
		if got := fitted(text); got != want {
			t.Errorf("%q\nis fitted as %q\nwant         %q", text, got, want)
		}
	}
}
