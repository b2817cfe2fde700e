package main

import (
	"fmt"

	"github.com/simctl/simctl/scenarios/language"
)

// didYouMean returns `; did you mean "x"?` for the candidate that name most likely
// misspells or begins, or "" when none is close or name is one of them.
func didYouMean(name string, candidates []string) string {
	best := language.Suggest(name, candidates)
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}
