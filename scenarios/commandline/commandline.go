// Package commandline knows how inputs of a run are written on the command line of simctl:
// Results say how to repeat them, and the program has a flag for every variable.
//
// It imports nothing of this module.
package commandline

import (
	"slices"
	"strings"
)

// Flag returns the flag of an input, such as a variable, without dashes.
func Flag(input string) string { return strings.ReplaceAll(input, "_", "-") }

// Quote quotes a word for a shell if it needs that.
func Quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+=,:", r)
	}
	if word != "" && !slices.ContainsFunc([]rune(word), func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
