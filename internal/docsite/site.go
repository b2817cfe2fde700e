package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
)

const readme = "README.md"

// site is what the pages link to, too: each is found by the path of its source.
type site struct {
	src    fs.FS
	pages  map[string]*page
	copied map[string]bool
	queue  []*page // whose links are still to be followed
	errs   []error
}

// build writes the site to a directory, and nothing at all if a link leads nowhere.
func build(src fs.FS, out string) error {
	s := &site{src: src, pages: map[string]*page{}, copied: map[string]bool{}}
	if err := s.read(); err != nil {
		return err
	}
	s.queue = s.sorted()
	for len(s.queue) > 0 {
		p := s.queue[0]
		s.queue = s.queue[1:]
		s.follow(p)
	}
	if err := errors.Join(s.errs...); err != nil {
		return err
	}
	return s.write(out)
}

// read parses every document of the repository but those of tests' data and of what is built.
func (s *site) read() error {
	return fs.WalkDir(s.src, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			hidden := strings.HasPrefix(d.Name(), ".") || path.Base(name) == "testdata" && name != "testdata"
			if name != "." && (hidden || slices.Contains([]string{"bin", "dist", "results"}, name)) {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".md" {
			return nil
		}
		text, err := fs.ReadFile(s.src, name)
		if err != nil {
			return err
		}
		p, err := parse(name, text)
		if err != nil {
			s.errs = append(s.errs, err)
		}
		s.pages[name] = p
		return nil
	})
}

// sorted returns the pages in the order of their paths; the document of a directory is its first.
func (s *site) sorted() []*page {
	return slices.SortedFunc(maps.Values(s.pages), func(a, b *page) int {
		if c := strings.Compare(path.Dir(a.path), path.Dir(b.path)); c != 0 {
			return c
		}
		if first, second := path.Base(a.path) == readme, path.Base(b.path) == readme; first != second {
			return map[bool]int{true: -1, false: 1}[first]
		}
		return strings.Compare(a.path, b.path)
	})
}

// follow rewrites the links of a page to those of the site, and adds what they lead to.
func (s *site) follow(p *page) {
	if p.doc == nil {
		return
	}
	s.check(p, ast.Walk(p.doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		var err error
		switch n := n.(type) {
		case *ast.Link:
			n.Destination, err = s.resolve(p, n.Destination, false)
		case *ast.Image:
			n.Destination, err = s.resolve(p, n.Destination, true)
		}
		s.check(p, err)
		return ast.WalkContinue, nil
	}))
	s.check(p, p.render())
}

func (s *site) check(p *page, err error) {
	if err != nil {
		s.errs = append(s.errs, fmt.Errorf("%s: %w", p.path, err))
	}
}

// resolve returns where a link of a page leads on the site.
func (s *site) resolve(from *page, link []byte, image bool) ([]byte, error) {
	u, err := url.Parse(string(link))
	if err != nil {
		return nil, fmt.Errorf("link %q: %w", link, err)
	}
	if u.Scheme != "" || u.Host != "" {
		if image {
			return nil, fmt.Errorf("image %q: it needs the network; put a copy beside the page", link)
		}
		return link, nil
	}
	name := from.path
	if u.Path != "" {
		name = path.Join(path.Dir(from.path), u.Path)
	}
	name, err = s.add(name)
	if err != nil {
		return nil, fmt.Errorf("link %q: %w", link, err)
	}
	to := s.pages[name]
	if u.Fragment != "" && (to == nil || !to.anchors[u.Fragment]) {
		return nil, fmt.Errorf("link %q: %s has no such heading", link, name)
	}
	u.Path = relative(from.path, name)
	return []byte(u.String()), nil
}

// add makes a file or a directory part of the site, and returns the path of its source there.
func (s *site) add(name string) (string, error) {
	if s.pages[name] != nil || s.copied[name] {
		return name, nil
	}
	info, err := fs.Stat(s.src, name)
	if err != nil {
		return "", fmt.Errorf("there is no file %s", name)
	}
	var p *page
	switch {
	case info.IsDir():
		if name = path.Join(name, readme); s.pages[name] != nil {
			return name, nil
		}
		if p, err = listing(s.src, path.Dir(name), s.pages); err != nil {
			return "", err
		}
	case asIs(name):
		s.copied[name] = true
		return name, nil
	default:
		text, err := fs.ReadFile(s.src, name)
		if err != nil {
			return "", err
		}
		p = verbatim(name, text)
	}
	s.pages[name] = p
	s.queue = append(s.queue, p)
	return name, nil
}

// target is the file of the site that shows a source.
func target(name string) string {
	switch {
	case path.Base(name) == readme:
		return path.Join(path.Dir(name), "index.html")
	case path.Ext(name) == ".md":
		return strings.TrimSuffix(name, ".md") + ".html"
	case asIs(name):
		return name
	}
	return name + ".html"
}

// asIs reports whether browsers and their users want the file itself, not a page of its text.
func asIs(name string) bool {
	return slices.Contains([]string{".png", ".svg", ".csv"}, path.Ext(name))
}
