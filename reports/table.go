package reports

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/reports/wording"
)

// The table fits a terminal of tableWidth columns: a title, then up to wording.MaxColumns
// values, each cellWidth wide after a gap.
const (
	tableWidth = 80
	titleWidth = 19
	cellWidth  = 13
	gap        = "  "
)

// TableOptions says how tables and frames for a terminal look. The zero value is plain text.
type TableOptions struct {
	Color   bool // colours and bold type, by ANSI escape sequences
	Verdict bool // the headline at the end, too, where people look after a long table
}

// writeTable writes a comparison of the runs for a terminal of 80 columns, with deltas and
// ratios if there are two.
func writeTable(w io.Writer, runs []*metrics.Result, opts TableOptions) error {
	s := wording.Summarise(runs)
	p := paint{opts.Color}
	var out bytes.Buffer
	if s.Headline != "" {
		fmt.Fprintln(&out, p.bold(wrap(s.Headline)))
	}
	fmt.Fprintln(&out, wrap(s.Subtitle))
	for first := 0; first < len(runs); first += wording.MaxColumns {
		out.WriteByte('\n')
		if err := writeBlock(&out, &s, first, min(first+wording.MaxColumns, len(runs)), p); err != nil {
			return fmt.Errorf("laying out the table: %w", err)
		}
	}
	for _, f := range s.Failures {
		fmt.Fprintln(&out, p.bad(wrap(f)))
	}
	if opts.Verdict && s.Headline != "" {
		fmt.Fprintf(&out, "\n%s\n", p.bold(wrap(s.Headline)))
	}
	_, err := w.Write(trimLines(out.Bytes()))
	return err
}

// writeBlock writes the columns of the runs from first to last, last not included.
func writeBlock(w io.Writer, s *wording.Summary, first, last int, p paint) error {
	columns := last - first
	header := []string{""}
	for _, label := range s.Labels[first:last] {
		header = append(header, gap+strings.Join(fitLabel(label), "\n"+gap))
	}
	if s.Pair {
		header = append(header, gap+"delta", gap+"ratio")
		columns += 2
	}
	aligns := []tw.Align{tw.AlignLeft}
	for range columns {
		aligns = append(aligns, tw.AlignRight)
	}
	// The gap is part of the cells: tablewriter takes padding out of a column's width.
	cells := tw.CellConfig{
		Formatting: tw.CellFormatting{AutoWrap: tw.WrapNone, AutoFormat: tw.Off},
		Alignment:  tw.CellAlignment{PerColumn: aligns},
		Padding:    tw.CellPadding{Global: tw.Padding{Overwrite: true}},
	}
	table := tablewriter.NewTable(w,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Symbols: tw.NewSymbols(tw.StyleNone),
			Settings: tw.Settings{
				Separators: tw.SeparatorsNone,
				Lines:      tw.LinesNone,
			},
		})),
		// Widths must not depend on the reader's locale.
		tablewriter.WithEastAsian(tw.Off),
		tablewriter.WithTrimSpace(tw.Off),
		tablewriter.WithHeaderConfig(cells),
		tablewriter.WithRowConfig(cells),
	)
	table.Header(header)
	for _, sec := range append(append([]wording.Section{}, s.Sections...), s.Verdicts) {
		if sec.Name != "" {
			heading := make([]string, columns+1)
			heading[0] = p.bold(fit(sec.Name, titleWidth))
			if err := table.Append(heading); err != nil {
				return err
			}
		}
		for _, r := range sec.Rows {
			if err := table.Append(rowCells(r, s, sec, first, last, p)); err != nil {
				return err
			}
		}
	}
	return table.Render()
}

func rowCells(r wording.Row, s *wording.Summary, sec wording.Section, first, last int, p paint) []string {
	title := r.Title
	if sec.Name != "" {
		title = "  " + title
	}
	out := []string{fit(title, titleWidth)}
	for _, v := range r.Values[first:last] {
		out = append(out, gap+fit(v, cellWidth))
	}
	if s.Pair {
		out = append(out, gap+fit(r.Delta, cellWidth), gap+p.change(r.Change, fit(r.Ratio, cellWidth)))
	}
	return out
}

// fit cuts a text that is too wide for its cell. The exports have all of it.
func fit(text string, width int) string {
	if utf8.RuneCountInString(text) <= width {
		return text
	}
	return string([]rune(text)[:width-1]) + "…"
}

// fitLabel breaks a label into lines that fit into a cell.
func fitLabel(label string) []string {
	var lines []string
	for word := range strings.FieldsSeq(label) {
		if utf8.RuneCountInString(word) > cellWidth {
			// In the name of a policy made of several words, such as a+b+c, each word gets a line. The value of a
			// parameter gets a line of its own, too, since columns may differ in it.
			for part := range strings.SplitSeq(strings.NewReplacer("+", "\n+", "=", "\n=").Replace(word), "\n") {
				lines = append(lines, fit(part, cellWidth))
			}
			continue
		}
		word = fit(word, cellWidth)
		if n := len(lines); n > 0 && utf8.RuneCountInString(lines[n-1])+1+utf8.RuneCountInString(word) <= cellWidth {
			lines[n-1] += " " + word
			continue
		}
		lines = append(lines, word)
	}
	return lines
}

// wrap breaks a text into lines of the table's width: at middle dots if it has any, else at
// spaces.
func wrap(text string) string { return wrapTo(text, tableWidth) }

func wrapTo(text string, most int) string {
	words := strings.Fields(text)
	if items := strings.Split(text, " · "); len(items) > 1 {
		for i := range items[:len(items)-1] {
			items[i] += " ·"
		}
		words = items
	}
	var b strings.Builder
	width := 0
	for _, word := range words {
		n := utf8.RuneCountInString(word)
		switch {
		case width == 0:
		case width+1+n > most:
			b.WriteByte('\n')
			width = 0
		default:
			b.WriteByte(' ')
			width++
		}
		b.WriteString(word)
		width += n
	}
	return b.String()
}

func trimLines(text []byte) []byte {
	var out []byte
	for line := range bytes.Lines(text) {
		out = append(append(out, bytes.TrimRight(line, " \n")...), '\n')
	}
	return out
}

// paint adds ANSI escape sequences to text if it is on.
type paint struct{ on bool }

func (p paint) sgr(code, text string) string {
	if !p.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p paint) bold(text string) string { return p.sgr("1", text) }
func (p paint) bad(text string) string  { return p.sgr("31", text) }

func (p paint) change(c wording.Change, text string) string {
	switch c {
	case wording.Better:
		return p.sgr("32", text)
	case wording.Worse:
		return p.sgr("31", text)
	}
	return text
}
