package language

import (
	"bytes"
	"fmt"
	"regexp"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// The parser calls itself for what is nested and for operators in a row, so both are bounded.
const (
	maxNesting   = 100
	maxOperators = 500
)

// parse reads the syntax of a text. The error is an *Error about the first problem: what
// follows it mostly results from it.
func parse(name string, src []byte) (*hcl.File, error) {
	if d := readable(name, src); d != nil {
		return nil, &Error{hcl.Diagnostics{d}, nil}
	}
	if d := tooDeep(name, src); d != nil {
		return nil, &Error{hcl.Diagnostics{d}, &hcl.File{Bytes: src}}
	}
	return syntax(name, src)
}

// syntax is parse for a text that harms neither the parser nor a terminal.
func syntax(name string, src []byte) (*hcl.File, error) {
	file, diags := hclsyntax.ParseConfig(src, name, hcl.InitialPos)
	for _, d := range diags {
		if d.Severity == hcl.DiagError {
			return nil, &Error{hcl.Diagnostics{d}, file}
		}
	}
	return file, nil
}

// lastParsed is the last text that parseAgain has read, which nobody changes.
var lastParsed atomic.Pointer[hcl.File]

// parseAgain is parse for texts of which one is often read many times, such as a built-in class of
// machines by whoever tries a thousand settings.
func parseAgain(name string, src []byte) (*hcl.File, error) {
	if last := lastParsed.Load(); last != nil && last.Body.MissingItemRange().Filename == name && bytes.Equal(last.Bytes, src) {
		return last, nil
	}
	file, err := parse(name, src)
	if err == nil {
		lastParsed.Store(file)
	}
	return file, err
}

// conflict begins the part of a file that git could not merge.
var conflict = regexp.MustCompile(`(?m)^<{7} `)

// readable returns a problem if the text is not UTF-8, is merged by halves, or has characters that a terminal would
// obey rather than show.
func readable(name string, src []byte) *hcl.Diagnostic {
	bad := func(at int, summary, format string, args ...any) *hcl.Diagnostic {
		line := 1 + bytes.Count(src[:at], []byte("\n"))
		return problem(Range{Filename: name, Start: hcl.Pos{Line: line, Column: 1}, End: hcl.Pos{Line: line, Column: 1}}, summary, format, args...)
	}
	for _, mark := range []string{"\xff\xfe", "\xfe\xff"} {
		if bytes.HasPrefix(src, []byte(mark)) {
			return bad(0, "Not UTF-8", "The file is UTF-16: save it as UTF-8.")
		}
	}
	if at := conflict.FindIndex(src); at != nil {
		return bad(at[0], "Merge conflict", "Git could not merge the file: take one side, and leave out the lines of <, = and >.")
	}
	for i := 0; i < len(src); {
		r, size := utf8.DecodeRune(src[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return bad(i, "Not UTF-8", "The file is no text in UTF-8: byte %d is %#x.", i+1, src[i])
		case !printable(r) && !bytes.HasPrefix(src[i:], []byte("\r\n")):
			return bad(i, "Control character", "The file has the control character %U: leave it out.", r)
		}
		i += size
	}
	return nil
}

// printable reports whether a character of a text only shows, or ends a line. Those that turn the direction of a text
// show another one than there is.
func printable(r rune) bool {
	return r == '\n' || r == '\t' || r == '\ufeff' || !unicode.In(r, unicode.Cc, unicode.Bidi_Control)
}

// Printable returns a text that a terminal shows and does not obey: control characters other
// than the ends of lines are escaped.
func Printable(text string) string {
	var b []byte
	for _, r := range text {
		if printable(r) {
			b = utf8.AppendRune(b, r)
		} else {
			b = fmt.Appendf(b, `\u%04x`, r)
		}
	}
	return string(b)
}

// frame is a bracket or a template that is open.
type frame struct {
	lines     bool // whether the end of a line ends an expression
	operators int  // of the expression so far
}

// tooDeep returns a problem if brackets, templates or operators are nested too deeply for the
// parser.
func tooDeep(name string, src []byte) *hcl.Diagnostic {
	tokens, _ := hclsyntax.LexConfig(src, name, hcl.InitialPos) // the parser reports its problems
	open := []frame{{lines: true}}
	for _, t := range tokens {
		top := &open[len(open)-1]
		switch t.Type {
		case hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen, hclsyntax.TokenTemplateInterp,
			hclsyntax.TokenTemplateControl, hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
			top.operators++
			open = append(open, frame{lines: t.Type == hclsyntax.TokenOBrace})
		case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenTemplateSeqEnd,
			hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
			if len(open) > 1 {
				open = open[:len(open)-1]
			}
		case hclsyntax.TokenComma:
			top.operators = 0
		case hclsyntax.TokenNewline:
			if top.lines {
				top.operators = 0
			}
		case hclsyntax.TokenIdent, hclsyntax.TokenNumberLit, hclsyntax.TokenQuotedLit, hclsyntax.TokenStringLit, hclsyntax.TokenComment:
		default:
			top.operators++
		}
		if len(open) > maxNesting {
			return problem(t.Range, "Nested too deeply", "Brackets and texts are nested more than %d deep here.", maxNesting)
		}
		if open[len(open)-1].operators > maxOperators {
			return problem(t.Range, "Expression too long", "The expression has more than %d operators.", maxOperators)
		}
	}
	return nil
}
