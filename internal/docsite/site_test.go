package main

import (
	"encoding/json"
	"html"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// TestDocuments builds the site of the repository, which follows every relative link and anchor
// of every document, and then follows those of the site as a browser would.
func TestDocuments(t *testing.T) {
	out := t.TempDir()
	if err := build(os.DirFS("../.."), out); err != nil {
		t.Fatal(err)
	}
	site, links := os.DirFS(out), 0
	attribute := regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	err := fs.WalkDir(site, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".html" {
			return err
		}
		for _, m := range attribute.FindAllStringSubmatch(read(t, site, name), -1) {
			u, err := url.Parse(html.UnescapeString(m[1]))
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if u.Scheme != "" {
				continue
			}
			links++
			to := name
			if u.Path != "" {
				to = filepath.ToSlash(filepath.Join(filepath.Dir(name), u.Path))
			}
			if _, err := fs.Stat(site, to); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
			} else if u.Fragment != "" && !strings.Contains(read(t, site, to), `id="`+u.Fragment+`"`) {
				t.Errorf("%s links to %s, which has no such anchor", name, m[1])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if links < 1000 {
		t.Errorf("the site has %d links: the pattern does not find them", links)
	}
	script := read(t, site, indexFile)
	var index [][4]string
	if err := json.Unmarshal([]byte(strings.TrimSuffix(strings.TrimPrefix(script, "searchIndex = "), ";\n")), &index); err != nil {
		t.Fatal(err)
	}
	if len(index) < 300 {
		t.Errorf("the index has %d sections: want one for every heading", len(index))
	}
}

func read(t *testing.T, src fs.FS, name string) string {
	t.Helper()
	text, err := fs.ReadFile(src, name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestATitleIsNeeded(t *testing.T) {
	const want = "a.md: it does not begin with a title"
	if _, err := parse("a.md", []byte("## A\n")); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %q", err, want)
	}
}

// TestLinks: a link that leads nowhere is named, and nothing is written.
func TestLinks(t *testing.T) {
	for _, c := range []struct{ name, page, want string }{
		{"a file", "[x](y.md)", `a.md: link "y.md": there is no file y.md`},
		{"a file of the directory above", "[x](../y.md)", `there is no file ../y.md`},
		{"a directory", "[x](docs/none)", "there is no file docs/none"},
		{"an anchor of its own", "[x](#none)", `link "#none": a.md has no such heading`},
		{"an anchor of another page", "[x](docs/b.md#two)", "docs/b.md has no such heading"},
		{"an anchor of a source", "[x](main.go#L1)", "main.go has no such heading"},
		{"an image", "![x](none.png)", "there is no file none.png"},
		{"an image of the network", "![x](https://example.org/x.png)", "it needs the network"},
		{"what would be read as HTML", "Use <name> here.", `"<name>" would not be shown`},
		{"all is well", "[x](docs/b.md#b--c-1) [y](#a) [z](docs) ![w](p.png) <!-- nothing --> [v](https://example.org/none) [u](main.go)", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			src := fstest.MapFS{
				"README.md": {Data: []byte("# Top\n")}, "main.go": {Data: []byte("package main // <b>\n")}, "p.png": {},
				"a.md": {Data: []byte("# A\n\n" + c.page + "\n")}, "docs/b.md": {Data: []byte("# B\n\n## b & `c`\n\n## b & c\n")},
			}
			out := t.TempDir()
			err := build(src, out)
			written, _ := os.ReadDir(out)
			if c.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				got := read(t, os.DirFS(out), "a.html")
				for _, want := range []string{`href="docs/b.html#b--c-1"`, `href="docs/index.html"`, `src="p.png"`, `href="main.go.html"`} {
					if !strings.Contains(got, want) {
						t.Errorf("the page lacks %s:\n%s", want, got)
					}
				}
				if source := read(t, os.DirFS(out), "main.go.html"); !strings.Contains(source, "// &lt;b&gt;") {
					t.Errorf("the source is not shown as it is:\n%s", source)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
			if len(written) > 0 {
				t.Errorf("%d files were written", len(written))
			}
		})
	}
}
