//go:build unix

package main

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is a rule applied at one place.
type mutant struct {
	id            int
	file          string
	line          int
	function      string
	rule          string
	before, after string
	dropped       bool // the compiler does not take it
}

// edit replaces the text from start to end, with the edits inside it made.
type edit struct {
	of         *mutant
	start, end int
	text       func(inner string) string
}

// source is a file of the package and what is planted in it.
type source struct {
	path  string
	text  string
	edits []edit
}

// planter goes through the syntax of a package.
type planter struct {
	fset     *token.FileSet
	info     *types.Info
	pkg      *types.Package
	sources  []*source
	mutants  []*mutant // by id, from 1 on
	file     *source
	function string
	within   ast.Node        // no constant inside it is planted
	unequal  map[string]bool // pairs of operands, as text, that the function has compared by !=
}

//go:embed planted.go.txt
var planted string

// plant finds the mutants of a package and writes the package with all of them, and the
// overlay that puts it in the place of the real one, into dir.
func plant(pkg *listed, dir string) ([]*mutant, error) {
	p := &planter{fset: token.NewFileSet(), info: &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
	}, mutants: []*mutant{nil}}
	files, err := p.parse(pkg)
	if err != nil {
		return nil, err
	}
	conf := types.Config{Importer: pkg.importer(p.fset), GoVersion: pkg.goVersion()}
	if p.pkg, err = conf.Check(pkg.ImportPath, p.fset, files, p.info); err != nil {
		return nil, err
	}
	for i, f := range files {
		p.file = p.sources[i]
		for _, decl := range f.Decls {
			p.function, p.unequal = "", map[string]bool{}
			p.walk(decl)
		}
		slices.SortStableFunc(p.file.edits, func(a, b edit) int {
			if a.start != b.start {
				return a.start - b.start
			}
			return b.end - a.end
		})
	}
	if err := p.dropUncompilable(pkg); err != nil {
		return nil, err
	}
	compilable := slices.DeleteFunc(p.mutants[1:], func(m *mutant) bool { return m.dropped })
	return compilable, p.write(pkg, dir)
}

func (p *planter) parse(pkg *listed) ([]*ast.File, error) {
	var files []*ast.File
	for _, name := range pkg.GoFiles {
		path := filepath.Join(pkg.Dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		f, err := parser.ParseFile(p.fset, path, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
		p.sources = append(p.sources, &source{path: path, text: string(text)})
	}
	return files, nil
}

func (p *planter) walk(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool { return n == nil || p.visit(n) })
}

func (p *planter) offset(pos token.Pos) int { return p.fset.Position(pos).Offset }

func (p *planter) text(n ast.Node) string {
	return p.file.text[p.offset(n.Pos()):p.offset(n.End())]
}

func (p *planter) add(n ast.Node, rule, after string) *mutant {
	m := &mutant{
		id: len(p.mutants), file: p.file.path, line: p.fset.Position(n.Pos()).Line, function: p.function,
		rule: rule, before: p.text(n), after: after,
	}
	p.mutants = append(p.mutants, m)
	return m
}

func (p *planter) edit(m *mutant, start, end token.Pos, text func(string) string) {
	p.file.edits = append(p.file.edits, edit{of: m, start: p.offset(start), end: p.offset(end), text: text})
}

// replace plants a mutant in the place of n. The format's operands are the text of n, with
// other mutants in it, and the mutant's number.
func (p *planter) replace(n ast.Node, rule, after, format string) *mutant {
	return p.replaceIn(n, n, rule, after, format)
}

// replaceIn is replace for a mutant that is best seen in the text of a larger node.
func (p *planter) replaceIn(n, seen ast.Node, rule, after, format string) *mutant {
	m := p.add(seen, rule, after)
	p.edit(m, n.Pos(), n.End(), func(inner string) string { return fmt.Sprintf(format, inner, m.id) })
	return m
}

// insert plants a mutant that is a statement of its own.
func (p *planter) insert(seen ast.Node, at token.Pos, rule, format string) {
	m := p.add(seen, rule, "")
	p.edit(m, at, at, func(string) string { return fmt.Sprintf(format, m.id) })
}

// splice returns text[lo:hi] with the edits made. An edit comes before those inside it.
func splice(text string, lo, hi int, edits []edit) string {
	var b strings.Builder
	for len(edits) > 0 {
		e, n := edits[0], 1
		for n < len(edits) && edits[n].end <= e.end {
			n++
		}
		if e.of.dropped {
			edits = edits[1:]
			continue
		}
		b.WriteString(text[lo:e.start])
		b.WriteString(e.text(splice(text, e.start, e.end, edits[1:n])))
		lo, edits = e.end, edits[n:]
	}
	return b.String() + text[lo:hi]
}

// dropUncompilable drops the mutants of the lines that the compiler complains about, until it
// complains no more. Edits keep every line where it is.
func (p *planter) dropUncompilable(pkg *listed) error {
	for {
		wrong := map[string][]int{}
		fset := token.NewFileSet()
		conf := types.Config{Importer: pkg.importer(fset), GoVersion: pkg.goVersion(), Error: func(err error) {
			var at types.Error
			if errors.As(err, &at) {
				pos := fset.Position(at.Pos)
				wrong[pos.Filename] = append(wrong[pos.Filename], pos.Line)
			}
		}}
		var files []*ast.File
		for _, s := range p.withHelpers(pkg) {
			f, err := parser.ParseFile(fset, s.path, splice(s.text, 0, len(s.text), s.edits), parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			files = append(files, f)
		}
		_, err := conf.Check(pkg.ImportPath, fset, files, nil)
		if err == nil {
			return nil
		}
		before := p.count()
		for _, m := range p.mutants[1:] {
			m.dropped = m.dropped || slices.Contains(wrong[m.file], m.line)
		}
		if p.count() == before {
			return fmt.Errorf("the package does not compile with mutants in it: %w", err)
		}
	}
}

// count is how many mutants the compiler takes.
func (p *planter) count() (n int) {
	for _, m := range p.mutants[1:] {
		if !m.dropped {
			n++
		}
	}
	return n
}

// withHelpers is all files of the package with mutants.
func (p *planter) withHelpers(pkg *listed) []*source {
	helpers := &source{
		path: filepath.Join(pkg.Dir, "planted_mutants.go"),
		text: strings.Replace(planted, "package PACKAGE", "package "+pkg.Name, 1),
	}
	return append(slices.Clone(p.sources), helpers)
}

func (p *planter) write(pkg *listed, dir string) error {
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for _, s := range p.withHelpers(pkg) {
		to := filepath.Join(dir, filepath.Base(s.path))
		if err := os.WriteFile(to, []byte(splice(s.text, 0, len(s.text), s.edits)), 0o644); err != nil {
			return err
		}
		overlay.Replace[s.path] = to
	}
	data, err := json.Marshal(overlay)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "overlay.json"), data, 0o644)
}
