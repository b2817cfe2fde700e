package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// tree lists every file and directory below root.
func tree(t *testing.T, root string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if rel, _ := filepath.Rel(root, path); rel != "." {
			names = append(names, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestOutDir(t *testing.T) {
	for _, c := range []struct {
		name   string
		before []string // files there before
		target string
		want   []string // everything there after commit
	}{
		{"a new directory", nil, "out", []string{"out", "out/a.json", "out/b.json"}},
		{"new parents", nil, "x/y", []string{"x", "x/y", "x/y/a.json", "x/y/b.json"}},
		{"a directory that is there", []string{"out/b.json", "out/mine"}, "out",
			[]string{"out", "out/a.json", "out/b.json", "out/mine"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			for _, name := range c.before {
				if err := os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(root, name), []byte("before"), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			before := tree(t, root)
			fill := func() *outDir {
				d, err := newOutDir(filepath.Join(root, c.target))
				if err != nil {
					t.Fatal(err)
				}
				for _, name := range []string{"a.json", "b.json"} {
					if err := os.WriteFile(d.path(name), []byte("after"), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				return d
			}

			if err := fill().discard(); err != nil {
				t.Fatal(err)
			}
			if got := tree(t, root); !slices.Equal(got, before) {
				t.Errorf("after discard there is %v, want %v as before", got, before)
			}

			d := fill()
			if err := d.commit(); err != nil {
				t.Fatal(err)
			}
			if err := d.discard(); err != nil {
				t.Errorf("discard after commit: %v", err)
			}
			if got := tree(t, root); !slices.Equal(got, c.want) {
				t.Errorf("after commit there is %v, want %v", got, c.want)
			}
			for _, name := range []string{"a.json", "b.json"} {
				got, err := os.ReadFile(filepath.Join(root, c.target, name))
				if err != nil || string(got) != "after" {
					t.Errorf("%s holds %q (%v), want what was committed", name, got, err)
				}
			}
		})
	}
}
