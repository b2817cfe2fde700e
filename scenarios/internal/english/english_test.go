package english

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestAgree(t *testing.T) {
	for n, want := range []string{"0 jobs wait for 0 nodes", "1 job waits for 1 node", "2 jobs wait for 2 nodes"} {
		if got := Agree(n, "job waits", "jobs wait") + " for " + Plural(uint64(n), "node"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// plural finds a number before a word, or an adjective and a word, that may be a plural.
var plural = regexp.MustCompile(`%(?:\[\d+\])?d ([a-z]+)(?: ([a-z]+))?`)

// small are the words after a number that end in s or lead to one, and count nothing.
var small = strings.Fields("of from is has as does less with than in and")

// counts returns what a format says in the plural of any number.
func counts(format string) string {
	for _, m := range plural.FindAllStringSubmatch(format, -1) {
		for _, word := range m[1:] {
			if slices.Contains(small, word) {
				break
			}
			if len(word) > 1 && strings.HasSuffix(word, "s") {
				return m[0]
			}
		}
	}
	return ""
}

func TestCounts(t *testing.T) {
	for format, want := range map[string]string{
		"%d jobs": "%d jobs", "%d of %d ready nodes": "%d ready nodes", "%[2]d evals": "%[2]d evals",
		"%d of its jobs": "", "seed %d is wrong": "", "index %d": "", "%d more": "",
	} {
		if got := counts(format); got != want {
			t.Errorf("%q counts %q, want %q", format, got, want)
		}
	}
}

// neverOne are formats with a number that is 2 at least, for it is a limit or beyond one.
var neverOne = []string{
	"%d clients: more than %d take hours", "%d clients: there must be %d at most", "%d jobs: there must be %d at most",
	"the scenario has %d servers, and there can be %d real ones",
	"An event that happens %d times must say", "more than %d operators", "   … %d lines …",
	"more than %d things to jobs", "more than %d values", "more than %d cells", "a sample of %d cells: it must be from 2",
	"are %d runs, and more than", "takes %d bytes compressed", "at least %d characters",
	"the directory holds %d scenario files", "The first %d schedules", "may each take up to %d times as long",
}

// TestNothingIsCountedByHand: what people read counts through Plural or its like, since every
// number can be 1.
func TestNothingIsCountedByHand(t *testing.T) {
	seen := map[string]bool{}
	for _, part := range []string{"scenarios", "metrics", "reports", "cmd"} {
		err := filepath.WalkDir(filepath.Join("../../..", part), func(path string, _ fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				lit, ok := n.(*ast.BasicLit)
				if !ok || lit.Kind != token.STRING {
					return true
				}
				text, _ := strconv.Unquote(lit.Value)
				bad := counts(text)
				if bad == "" {
					return true
				}
				if i := slices.IndexFunc(neverOne, func(s string) bool { return strings.Contains(text, s) }); i >= 0 {
					seen[neverOne[i]] = true
					return true
				}
				t.Errorf("%v: %q reads wrong if the number is 1: count in words that agree", files.Position(lit.Pos()), bad)
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, s := range neverOne {
		if !seen[s] {
			t.Errorf("no format has %q any more: delete it here", s)
		}
	}
}
