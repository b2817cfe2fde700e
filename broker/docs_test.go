package broker

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestDocs holds the tables of docs/policies.md to the policies, changes and quirks that
// there are.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "| `") {
			rows[strings.TrimSpace(line)] = true
		}
	}
	want := func(row string) {
		if !rows[row] {
			t.Errorf("docs/policies.md lacks the row\n%s", row)
		}
		delete(rows, row)
	}
	for _, r := range registry {
		want(fmt.Sprintf("| `%s` | %s | %s |", r, cmp.Or(r.Release(), "–"), r.description))
	}
	for _, ch := range changes {
		want(fmt.Sprintf("| `%s` | %s |", ch.word, ch.description))
	}
	for _, d := range defects {
		want(fmt.Sprintf("| `%s` | %s |", d.word, d.description))
	}
	for row := range rows {
		t.Errorf("docs/policies.md has a row that describes nothing:\n%s", row)
	}
}
