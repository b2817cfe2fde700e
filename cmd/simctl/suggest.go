package main

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
)

// didYouMean returns `; did you mean "x"?` for the candidate that name most likely
// misspells or begins, or "" when none is close or name is one of them.
func didYouMean(name string, candidates []string) string {
	best, bestDistance := "", len(name)/3+1
	for _, c := range candidates {
		d := levenshtein.Distance(strings.ToLower(name), strings.ToLower(c), nil)
		if name != "" && strings.HasPrefix(c, strings.ToLower(name)) {
			d = min(d, 1)
		}
		if d <= bestDistance && (best == "" || d < bestDistance) {
			best, bestDistance = c, d
		}
	}
	if best == "" || best == name {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}
