package main

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"path"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// markdown is what GitHub renders, where most people read these documents.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM))

// page is one document, or what the site shows of a source file or a directory.
type page struct {
	path     string // of the source, from the root of the repository
	title    string
	source   []byte
	doc      ast.Node
	sections []section
	anchors  map[string]bool
	body     template.HTML
}

// section is what follows a heading, as far as the next one.
type section struct {
	Level    int
	ID, Name string
	text     strings.Builder
}

// parse reads a document and gives its headings the anchors that GitHub gives them.
func parse(name string, source []byte) (*page, error) {
	p := &page{path: name, source: source, anchors: map[string]bool{}}
	p.doc = markdown.Parser().Parse(text.NewReader(source))
	var errs []error
	err := ast.Walk(p.doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			p.open(n)
			return ast.WalkSkipChildren, nil
		case *ast.HTMLBlock, *ast.RawHTML:
			if tag := raw(n, source); !strings.HasPrefix(tag, "<!--") {
				errs = append(errs, fmt.Errorf("%s: %q would not be shown; put it in backticks", name, strings.TrimSpace(tag)))
			}
		}
		if len(p.sections) > 0 {
			own(&p.sections[len(p.sections)-1].text, n, source)
		}
		return ast.WalkContinue, nil
	})
	if len(p.sections) == 0 || p.sections[0].Level != 1 {
		errs = append(errs, fmt.Errorf("%s: it does not begin with a title; want a line # TITLE", name))
	} else {
		p.title = p.sections[0].Name
	}
	return p, errors.Join(append(errs, err)...)
}

// open begins the section of a heading.
func (p *page) open(h *ast.Heading) {
	name := words(h, p.source)
	id := slug(name)
	for i := 1; p.anchors[id]; i++ {
		id = fmt.Sprintf("%s-%d", slug(name), i)
	}
	p.anchors[id] = true
	h.SetAttributeString("id", []byte(id))
	p.sections = append(p.sections, section{Level: h.Level, ID: id, Name: name})
}

// slug is the anchor of a heading.
func slug(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsNumber(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, name)
}

// words returns the text of a node and of everything in it.
func words(n ast.Node, source []byte) string {
	var b strings.Builder
	// The function returns no error.
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if entering {
			own(&b, n, source)
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}

// own appends the text that a node holds itself.
func own(b *strings.Builder, n ast.Node, source []byte) {
	switch n := n.(type) {
	case *ast.Text:
		value := n.Segment.Value(source)
		if !n.IsRaw() && n.Parent().Kind() != ast.KindCodeSpan {
			value = util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(value)))
		}
		b.Write(value)
		if n.SoftLineBreak() || n.HardLineBreak() {
			b.WriteByte(' ')
		}
	case *ast.String:
		b.Write(n.Value)
	case *ast.AutoLink:
		b.Write(n.Label(source))
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		b.WriteString(" " + raw(n, source))
	default:
		if n.Type() == ast.TypeBlock {
			b.WriteByte(' ')
		}
	}
}

// raw returns the lines of a node as they are.
func raw(n ast.Node, source []byte) string {
	if n, ok := n.(*ast.RawHTML); ok {
		return string(n.Segments.Value(source))
	}
	return string(n.Lines().Value(source))
}

// render turns the document into HTML, once its links are those of the site.
func (p *page) render() error {
	var b bytes.Buffer
	if err := markdown.Renderer().Render(&b, p.source, p.doc); err != nil {
		return fmt.Errorf("%s: %w", p.path, err)
	}
	p.body = template.HTML(b.String())
	return nil
}

// verbatim is the page of a file that is no document.
func verbatim(name string, source []byte) *page {
	p := &page{path: name, title: path.Base(name)}
	p.sections = make([]section, 1)
	p.sections[0].text.Write(source)
	p.body = template.HTML("<h1>" + template.HTMLEscapeString(name) + "</h1>\n<pre><code>" + template.HTMLEscapeString(string(source)) + "</code></pre>\n")
	return p
}

// listing is a document that lists the files of a directory without one of its own.
func listing(src fs.FS, dir string, titles map[string]*page) (*page, error) {
	entries, err := fs.ReadDir(src, dir)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# %s\n\n", dir)
	for _, e := range entries {
		name := e.Name()
		if p := titles[path.Join(dir, name)]; p != nil {
			name = p.title
		}
		if !e.IsDir() {
			fmt.Fprintf(&b, "- [%s](%s)\n", strings.NewReplacer("[", `\[`, "]", `\]`).Replace(name), e.Name())
		}
	}
	return parse(path.Join(dir, readme), b.Bytes())
}
