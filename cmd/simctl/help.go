package main

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/mitchellh/go-wordwrap"
	"github.com/spf13/cobra"
)

// helpWidth is the width of a terminal that every help text fits.
const helpWidth = 80

// fitHelp makes the help of a command, and of all below it, fit a terminal.
func fitHelp(root *cobra.Command) {
	plain := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		out := cmd.OutOrStdout()
		var text bytes.Buffer
		cmd.SetOut(&text)
		plain(cmd, args)
		cmd.SetOut(out)
		fmt.Fprint(out, fitted(text.String()))
	})
}

// fitted wraps paragraphs, and what stands in the last column of a list. Other lines that are
// indented, such as commands, stay as they are.
func fitted(help string) string {
	var out, paragraph []string
	flush := func() {
		if paragraph != nil {
			out = append(out, wordwrap.WrapString(strings.Join(paragraph, " "), helpWidth))
		}
		paragraph = nil
	}
	for line := range strings.SplitSeq(help, "\n") {
		if line != "" && line[0] != ' ' && line[0] != '\t' {
			paragraph = append(paragraph, line)
			continue
		}
		flush()
		out = append(out, hanging(line))
	}
	flush()
	return strings.Join(out, "\n")
}

// lastColumn matches a line of a list up to where its last column begins, and command that of the
// longest name of a command, which a single space follows.
var (
	lastColumn = regexp.MustCompile(`^ +\S+( \S+)* {2,}`)
	command    = regexp.MustCompile(`^(  [a-z-]+ )[A-Z]`)
)

// hanging wraps the last column of a line that is too long.
func hanging(line string) string {
	head := lastColumn.FindString(line)
	if m := command.FindStringSubmatch(line); m != nil {
		head = m[1]
	}
	if utf8.RuneCountInString(line) <= helpWidth || head == "" {
		return line
	}
	indent := utf8.RuneCountInString(head)
	text := wordwrap.WrapString(line[len(head):], uint(helpWidth-indent))
	return head + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", indent))
}
