package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/simctl/simctl/metrics"
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

func TestOutDirWithoutControlCharacters(t *testing.T) {
	for _, name := range []string{"a\nb", "a\u202eb"} {
		if _, err := newOutDir(filepath.Join(t.TempDir(), name)); err == nil || !strings.Contains(err.Error(), "want a name without control characters") {
			t.Errorf("%q: %v", name, err)
		}
		for cmd, args := range map[*cobra.Command][]string{
			newServeCommand():  {"--http-addr", "127.0.0.1:0", "--data-dir", filepath.Join(t.TempDir(), name)},
			newRecordCommand(): {"--out", filepath.Join(t.TempDir(), name+".hcl")},
		} {
			if _, err := execute(cmd, args...); exitCode(err) != exitUsage || !strings.Contains(err.Error(), "want a name without control characters") {
				t.Errorf("%s, %q: %v", cmd.Name(), name, err)
			}
		}
	}
}

// TestLinksThatAreNoTargets: what cannot be written in the end is refused before anything runs.
func TestLinksThatAreNoTargets(t *testing.T) {
	root := t.TempDir()
	nowhere, device := filepath.Join(root, "nowhere"), filepath.Join(root, "device")
	for link, to := range map[string]string{nowhere: "missing", device: os.DevNull} {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := newOutDir(nowhere); err == nil || !strings.Contains(err.Error(), "it is a link to what is not there") {
		t.Errorf("a directory's name that links to nothing: %v", err)
	}
	if err := checkFile("--junit", device); err == nil || !strings.Contains(err.Error(), "it is no regular file") {
		t.Errorf("a file's name that links to a device: %v", err)
	}
	if err := checkFile("$"+stepSummary, device); err != nil {
		t.Errorf("a summary that is appended to a device: %v", err)
	}
	if got, want := tree(t, root), []string{"device", "nowhere"}; !slices.Equal(got, want) {
		t.Errorf("there is %v, want %v", got, want)
	}
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

			if err := fill().discard(nil); err != nil {
				t.Fatal(err)
			}
			if got := tree(t, root); !slices.Equal(got, before) {
				t.Errorf("after discard there is %v, want %v as before", got, before)
			}

			d := fill()
			if err := d.commit(); err != nil {
				t.Fatal(err)
			}
			if err := d.discard(nil); err != nil {
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

// TestOutDirInUse: a directory that another process is filling is refused, the rests of one that
// has ended go unless it may run elsewhere, and a target that appears meanwhile is filled.
func TestOutDirInUse(t *testing.T) {
	root := t.TempDir()
	target := filepath.Join(root, "out")
	d, err := newOutDir(target)
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command("simctl", "scenario", "fmt", "-") // reads its input to the end
	input, err := other.StdinPipe()
	if err := errors.Join(err, other.Start()); err != nil {
		t.Fatal(err)
	}
	prefix, rest, _ := strings.Cut(strings.TrimPrefix(filepath.Base(d.stage), ".simctl-"), "-")
	_, name, _ := strings.Cut(rest, "-")
	theirs := filepath.Join(root, fmt.Sprintf(".simctl-%s-%d-%s", prefix, other.Process.Pid, name))
	if err := os.Mkdir(theirs, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := newOutDir(target); exitCode(err) != exitUsage || !strings.Contains(err.Error(), "another simctl") {
		t.Errorf("while another fills it: %v", err)
	}
	if _, err := newOutDir(filepath.Join(root, "other")); err != nil {
		t.Errorf("another target: %v", err)
	}
	_ = input.Close()
	_ = other.Wait()
	elsewhere := strings.Replace(theirs, "-"+place()+"-", "-elsewhere-", 1)
	dated := strings.Replace(theirs, prefix, "another", 1)
	for _, dir := range []string{theirs, elsewhere, dated} {
		if err := os.MkdirAll(filepath.Join(dir, "half"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := newOutDir(target); err != nil {
		t.Errorf("after the other has ended: %v", err)
	}
	for dir, want := range map[string]error{theirs: fs.ErrNotExist, elsewhere: nil, dated: fs.ErrNotExist} {
		if _, err := os.Stat(dir); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", dir, err, want)
		}
	}
	if err := os.Mkdir(target, 0o700); err != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{d.path("a.json"): "new", filepath.Join(target, "b.json"): "old"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.commit(); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, target); !slices.Equal(got, []string{"a.json", "b.json"}) {
		t.Errorf("the target holds %v", got)
	}
	if got := d.older([]string{"a"}); !slices.Equal(got, []string{"b.json"}) {
		t.Errorf("older results are %v, want b.json", got)
	}
}

// TestResultsSurviveCharts: the results are kept if a chart or the page cannot be written.
func TestResultsSurviveCharts(t *testing.T) {
	target := filepath.Join(t.TempDir(), "out")
	d, err := newOutDir(target)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(d.path("report.html/in-the-way"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := &metrics.Result{Schema: metrics.Schema, Run: metrics.Run{Scenario: "s", Broker: "legacy"}}
	lacking, err := writeFiles(d, []*metrics.Result{r})
	if err != nil || lacking == nil {
		t.Fatalf("%v, %v: want the page to be lacking, and nothing else", lacking, err)
	}
	if err := d.commit(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(target, "legacy.json")); err != nil {
		t.Error(err)
	}
}
