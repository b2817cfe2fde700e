package language

import (
	"strings"
	"testing"
)

// TestFiguresAreReadAgain: what was read says the same again, and under another name speaks of that.
func TestFiguresAreReadAgain(t *testing.T) {
	text := []byte("cores = 3\nnone = 4\n")
	for _, name := range []string{"a.hcl", "a.hcl", "b.hcl"} {
		var target struct{ Cores int }
		err := DecodeFigures(name, text, &target)
		if err == nil || !strings.Contains(err.Error(), name) || target.Cores != 3 {
			t.Errorf("%s: %d cores, error %v; want 3, and one that names the file", name, target.Cores, err)
		}
	}
}
