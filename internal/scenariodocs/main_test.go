package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/simctl/simctl/scenarios"
)

// TestPagesAreThereAndUpToDate: every scenario has a page and a chart, and the page says what
// the scenario's file says now.
func TestPagesAreThereAndUpToDate(t *testing.T) {
	dir := filepath.Join("..", "..", "docs", "scenarios")
	contents, err := list()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "README.md")); err != nil || string(got) != string(contents) {
		t.Errorf("the list is not up to date (%v): run make scenario-docs", err)
	}
	for _, name := range scenarios.Names() {
		page, err := scenarios.PageOf(name)
		if err != nil {
			t.Error(err)
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, name+".md"))
		if err != nil {
			t.Errorf("%v: run make scenario-docs", err)
			continue
		}
		command, _, _ := strings.Cut(page.Spec.CommandLine(), " --broker")
		for _, want := range []string{page.Title[1:], strings.TrimSpace(page.About), strings.TrimSpace(page.Reading), command, name + ".png", "invariants"} {
			if len(want) < 5 || !strings.Contains(string(text), want) {
				t.Errorf("the page of %s does not say %q: run make scenario-docs", name, want)
			}
		}
		if info, err := os.Stat(filepath.Join(dir, name+".png")); err != nil || info.Size() < 5_000 {
			t.Errorf("the chart of %s is missing or empty (%v): run make scenario-docs", name, err)
		}
	}
}
