package language

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/agext/levenshtein"
	"github.com/hashicorp/hcl/v2"
)

// Error is what is wrong with a file. Its text shows the first problems with file, line and the
// lines in question.
type Error struct {
	Diags hcl.Diagnostics
	file  *hcl.File
}

// errorWidth is the column at which the texts of problems wrap. Longer lines and longer problems
// are cut, and only so many problems shown.
const (
	errorWidth  = 100
	maxWidth    = 160
	maxLines    = 20
	maxProblems = 5
)

// Problem is one thing that is wrong with a file.
type Problem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"` // from 1; 0 for the whole file
	Column  int    `json:"column,omitempty"`
	Summary string `json:"summary"`
	Detail  string `json:"detail,omitempty"`
}

// Problems returns all that is wrong, in the order of the file.
func (e *Error) Problems() []Problem {
	var out []Problem
	for _, d := range e.sorted() {
		p := Problem{Summary: cut(Printable(d.Summary)), Detail: cut(Printable(d.Detail))}
		if d.Subject != nil {
			p.File, p.Line, p.Column = d.Subject.Filename, d.Subject.Start.Line, d.Subject.Start.Column
		}
		out = append(out, p)
	}
	return out
}

// sorted returns the problems in the order of the file: the parser's maps have none.
func (e *Error) sorted() []*hcl.Diagnostic {
	return slices.SortedStableFunc(slices.Values(e.Diags), func(a, b *hcl.Diagnostic) int {
		return cmp.Compare(start(a), start(b))
	})
}

func (e *Error) Error() string {
	problems := e.sorted()
	var shown []string
	for _, d := range problems[:min(len(problems), maxProblems)] {
		var b strings.Builder
		files := map[string]*hcl.File{}
		if d.Subject != nil && e.file != nil {
			files[d.Subject.Filename] = e.file
		}
		if err := hcl.NewDiagnosticTextWriter(&b, files, errorWidth, false).WriteDiagnostic(d); err != nil {
			return d.Error() // a Builder takes every write
		}
		text := strings.Replace(b.String(), "  (source code not available)\n", "", 1)
		shown = append(shown, cut(Printable(strings.TrimSpace(text))))
	}
	if more := len(e.Diags) - maxProblems; more > 0 {
		shown = append(shown, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(shown, "\n\n")
}

// start returns where in a file a problem is.
func start(d *hcl.Diagnostic) int {
	if d.Subject == nil {
		return -1
	}
	return d.Subject.Start.Byte
}

// cut shortens lines that are too long, and leaves out lines in the middle if there are too many.
func cut(text string) string {
	lines := strings.Split(text, "\n")
	if len(lines) > maxLines {
		left := len(lines) - maxLines
		lines = slices.Concat(lines[:maxLines-4], []string{fmt.Sprintf("   … %d lines …", left)}, lines[len(lines)-4:])
	}
	for i, line := range lines {
		if runes := []rune(line); len(runes) > maxWidth {
			lines[i] = string(runes[:maxWidth-1]) + "…"
		}
	}
	return strings.Join(lines, "\n")
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
	detail := fmt.Sprintf(format, args...)
	if text, ok := strings.CutSuffix(detail, "?."); ok { // a suggestion ends the sentence
		detail = text + "?"
	}
	return &hcl.Diagnostic{Severity: hcl.DiagError, Summary: summary, Detail: detail, Subject: &at}
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

// Instead says which of the names known was probably meant or, if none is close, which there are.
func Instead(name string, known []string) string {
	if s := Suggest(name, known); s != "" {
		return fmt.Sprintf("did you mean %q?", s)
	}
	if len(known) == 1 {
		return "it must be " + known[0]
	}
	return "it must be one of " + strings.Join(known, ", ")
}

// unknown says that there is no such name, and what was probably meant.
func unknown(name string, known []string) string {
	if s := Suggest(name, known); s != "" {
		return fmt.Sprintf("There is no %q. Did you mean %q?", name, s)
	}
	if len(known) == 0 {
		return fmt.Sprintf("There is no %q: the file declares none.", name)
	}
	return fmt.Sprintf("There is no %q: there is %s.", name, strings.Join(known, ", "))
}
