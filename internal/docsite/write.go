package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

//go:embed style.css search.js
var assets embed.FS

//go:embed page.html
var layout string

var pageTemplate = template.Must(template.New("page").Parse(layout))

// indexFile is a script, since a page opened from a directory may not fetch data.
const indexFile = "search-index.js"

// view is what the template shows of a page.
type view struct {
	Title    string
	Root     string // leads from the page to the root of the site
	Body     template.HTML
	Sections []section
	Contents []group
}

// group is a directory in the contents.
type group struct {
	Name  string
	Open  bool // it has the page that is shown
	Links []link
}

type link struct {
	Name, To string
	Here     bool
}

// write renders every page into the directory, with the search index and the files linked to.
func (s *site) write(out string) error {
	files := map[string][]byte{}
	for _, p := range s.pages {
		var b bytes.Buffer
		if err := pageTemplate.Execute(&b, s.view(p)); err != nil {
			return err
		}
		files[target(p.path)] = b.Bytes()
	}
	for name := range s.copied {
		data, err := fs.ReadFile(s.src, name)
		if err != nil {
			return err
		}
		files[name] = data
	}
	entries, err := assets.ReadDir(".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if files[e.Name()], err = assets.ReadFile(e.Name()); err != nil {
			return err
		}
	}
	if files[indexFile], err = s.index(); err != nil {
		return err
	}
	for name, data := range files {
		file := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o666); err != nil {
			return err
		}
	}
	return nil
}

func (s *site) view(p *page) view {
	v := view{Title: p.title, Root: relative(p.path, ""), Body: p.body}
	for _, sec := range p.sections {
		if sec.Level == 2 || sec.Level == 3 {
			v.Sections = append(v.Sections, sec)
		}
	}
	for _, other := range s.sorted() {
		dir := path.Dir(other.path)
		if other.source == nil {
			continue // files that are no documents are found by their links
		}
		if n := len(v.Contents); n == 0 || v.Contents[n-1].Name != dir {
			v.Contents = append(v.Contents, group{Name: dir, Open: dir == "." || dir == "docs" || dir == path.Dir(p.path)})
		}
		g := &v.Contents[len(v.Contents)-1]
		g.Links = append(g.Links, link{Name: other.title, To: relative(p.path, other.path), Here: other == p})
	}
	return v
}

// index returns the script with the words of every section: where it is, its page, its
// heading and its text.
func (s *site) index() ([]byte, error) {
	entries := [][4]string{}
	for _, p := range s.sorted() {
		for i := range p.sections {
			sec := &p.sections[i]
			to := target(p.path)
			if sec.Level > 1 {
				to += "#" + sec.ID
			}
			entries = append(entries, [4]string{to, p.title, sec.Name, strings.Join(strings.Fields(sec.text.String()), " ")})
		}
	}
	text, err := json.Marshal(entries)
	return append(append([]byte("searchIndex = "), text...), ";\n"...), err
}

// relative is the link from the page of one source to that of another; "" is the root of the site.
func relative(from, to string) string {
	up := strings.Repeat("../", strings.Count(target(from), "/"))
	if to == "" {
		return up
	}
	return up + target(to)
}
