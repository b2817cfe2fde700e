package language

import (
	"strings"
	"testing"
)

// TestHostileTexts: whatever a file holds, the answer is short, and nothing in it is for a
// terminal to obey.
func TestHostileTexts(t *testing.T) {
	many := strings.Repeat("x", 200_000)
	for name, c := range map[string]struct{ src, want string }{
		"brackets":        {"title = " + strings.Repeat("[", 100_000), "nested more than 100 deep"},
		"blocks":          {strings.Repeat("a {\n", 10_000), "nested more than 100 deep"},
		"parentheses":     {"a = " + strings.Repeat("(", 1000) + "1" + strings.Repeat(")", 1000), "nested more than 100 deep"},
		"templates":       {"a = " + strings.Repeat(`"${`, 1000), "nested more than 100 deep"},
		"heredocs":        {"a = " + strings.Repeat("<<E\n${", 1000), "nested more than 100 deep"},
		"signs":           {"a = " + strings.Repeat("-", 100_000) + "1", "more than 500 operators"},
		"conditions":      {"a = " + strings.Repeat("true ? 1 : ", 10_000) + "1", "more than 500 operators"},
		"sums over lines": {"a = (" + strings.Repeat("1 +\n", 10_000) + "1)", "more than 500 operators"},
		"indices":         {"a = b" + strings.Repeat("[c]", 10_000), "more than 500 operators"},
		"a missing quote": {strings.Replace(least, `"least"`, `least"`, 1), "multi-line string"},
		"merge conflict":  {"title = \"t\"\n<<<<<<< HEAD\n", "Git could not merge the file: take one side"},
		"UTF-16":          {"\xff\xfet\x00i\x00", "The file is UTF-16: save it as UTF-8."},
		"no text":         {"title = \"\xf5\"", "byte 10 is 0xf5"},
		"an escape":       {"title = \"\x1b[31m\"", "control character U+001B"},
		"a written one":   {strings.Replace(least, `"least"`, `"\u001b[31m"`, 1), "title has a control character"},
		"text backwards":  {"title = \"\u202eevil\"", "control character U+202E"},
		"written so":      {strings.Replace(least, `"least"`, `"\u2066x"`, 1), "title has a control character"},
		"a long line":     {least + "nope = \"" + many + "\"\n", "nope"},
		"a long name":     {least + many + " = 1\n", "xxx"},
		"a long list":     {least + "job \"j\" {\n  type = [\n" + strings.Repeat("    1,\n", 5000) + "  ]\n}\n", "type must be text"},
		"many problems":   {least + "a = 1\nb = 2\nc = 3\nd = 4\ne = 5\nf = 6\ng = 7\n", "and 2 more"},
		"two conditions":  {strings.Replace(least, `until "recovered" {}`, "until \"recovered\" {}\n  until \"elapsed\" {\n    for = \"1s\"\n  }", 1), "second until block"},
		"allocations":     {least + "job \"j\" {\n  type = \"service\"\n  count = 4000000000\n}\n", "count is 4000000000; it must be from 0 to 1000000"},
	} {
		_, err := define(c.src, nil)
		if err == nil {
			t.Errorf("%s: no error", name)
			continue
		}
		text := err.Error()
		if !strings.Contains(text, c.want) || len(text) > 4000 || text != Printable(text) {
			t.Errorf("%s: %d bytes, want %q in it:\n%.2000s", name, len(text), c.want, text)
		}
	}
}

// TestLargeButFlat: what is long without being nested is no problem.
func TestLargeButFlat(t *testing.T) {
	src := least + "locals {\n  list = [" + strings.Repeat("1 + 2,\n", 5000) + "]\n  map = {\n" + strings.Repeat("    a = 1 + 2\n", 3000) + "  }\n}\n"
	if _, err := define(strings.ReplaceAll(src, "\n", "\r\n"), nil); err != nil {
		t.Error(err)
	}
}

// TestLinesOfWindows: a text of several lines is the same whichever way the file's lines end.
func TestLinesOfWindows(t *testing.T) {
	src := strings.Replace(least, `"least"`, "<<-EOT\n    two\n    lines\n  EOT\n", 1)
	for _, end := range []string{"\n", "\r\n"} {
		if _, err := define(strings.ReplaceAll(src, "\n", end), nil); err != nil {
			t.Errorf("lines that end with %q: %v", end, err)
		}
	}
}
