package main

import (
	"fmt"

	"github.com/simctl/simctl/scenarios/language"
)

// didYouMean returns `; did you mean "x"?` for the candidate x that name most likely
// misspells or begins. It returns "" if none is close or name is itself a candidate.
func didYouMean(name string, candidates []string) string {
	best := language.Suggest(name, candidates)
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}
