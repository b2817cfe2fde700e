package language

import (
	"fmt"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/hashicorp/hcl/v2"
)

// Error is what is wrong with a file. Its text shows every problem with file, line and the
// lines in question.
type Error struct {
	Diags hcl.Diagnostics
	file  *hcl.File
}

// errorWidth is the column at which the texts of problems wrap.
const errorWidth = 100

func (e *Error) Error() string {
	var b strings.Builder
	files := map[string]*hcl.File{}
	for _, d := range e.Diags {
		if d.Subject != nil {
			files[d.Subject.Filename] = e.file
		}
	}
	if err := hcl.NewDiagnosticTextWriter(&b, files, errorWidth, false).WriteDiagnostics(e.Diags); err != nil {
		return e.Diags.Error() // a Builder takes every write
	}
	return strings.TrimSpace(b.String())
}

// VariableError is a value that a variable cannot have.
type VariableError struct {
	Name    string
	Value   string
	Allowed string // what would be accepted
}

func (e *VariableError) Error() string {
	return fmt.Sprintf("variable %s is %q: %s", e.Name, e.Value, e.Allowed)
}

func problem(at Range, summary, format string, args ...any) *hcl.Diagnostic {
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: fmt.Sprintf(format, args...), Subject: &at}
}

// Suggest returns the candidate that name most likely misspells or begins; "" when none is
// close or name is one of them.
func Suggest(name string, candidates []string) string {
	best, bestDistance := "", len(name)/3+1
	for _, c := range candidates {
		d := levenshtein.Distance(strings.ToLower(name), strings.ToLower(c), nil)
		if d >= len(name) {
			d = len(name) + 2 // no letter is the same
		}
		if name != "" && strings.HasPrefix(c, strings.ToLower(name)) {
			d = min(d, 1)
		}
		if d <= bestDistance && (best == "" || d < bestDistance) {
			best, bestDistance = c, d
		}
	}
	if best == name {
		return ""
	}
	return best
}

// DidYouMean returns `; did you mean "x"?` for the candidate x that Suggest returns, and ""
// without one.
func DidYouMean(name string, candidates []string) string {
	if s := Suggest(name, candidates); s != "" {
		return fmt.Sprintf("; did you mean %q?", s)
	}
	return ""
}

// unknown says that there is no such name, and what was probably meant.
func unknown(name string, known []string) string {
	if s := Suggest(name, known); s != "" {
		return fmt.Sprintf("There is no %q. Did you mean %q?", name, s)
	}
	if len(known) == 0 {
		return fmt.Sprintf("There is no %q, nor any other.", name)
	}
	return fmt.Sprintf("There is no %q: there is %s.", name, strings.Join(known, ", "))
}
