package madeby

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPut(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	begin, end := Lines("x")
	for _, c := range []struct{ old, want, fails string }{
		{old: "a\n" + begin + "old\n" + end + "b\n", want: "a\n" + begin + "new\n" + end + "b\n"},
		{old: begin + end, want: begin + "new\n" + end},
		{old: "a\n" + begin + "b\n", fails: "lacks the lines"},
		{old: end + begin, fails: "lacks the lines"},
	} {
		if err := os.WriteFile(page, []byte(c.old), 0o644); err != nil {
			t.Fatal(err)
		}
		err := Put(page, "x", []byte("new\n"))
		got, _ := os.ReadFile(page)
		if c.fails != "" {
			if err == nil || !strings.Contains(err.Error(), c.fails) || string(got) != c.old {
				t.Errorf("%q: %v, and the page is %q", c.old, err, got)
			}
		} else if err != nil || string(got) != c.want {
			t.Errorf("%q becomes %q, %v; want %q", c.old, got, err, c.want)
		}
	}
	if err := Put(page+"x", "x", nil); err == nil {
		t.Error("a page that is not there is written")
	}
}

// TestChart: the chart of a directory of Results, under another name.
func TestChart(t *testing.T) {
	runs, err := Results("../../testdata/results")
	if err != nil || len(runs) == 0 {
		t.Fatalf("%d Results, %v", len(runs), err)
	}
	dir := t.TempDir()
	if err := Chart(dir, "picture", "raft", runs); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "picture.png")); err != nil || info.Size() == 0 {
		t.Errorf("the picture: %v", err)
	}
	if err := Chart(dir, "picture", "rafts", runs); err == nil || !strings.Contains(err.Error(), `there is no chart "rafts": there is ["`) {
		t.Errorf("a chart that there is not: %v", err)
	}
	if runs, err := Results(dir); len(runs) != 0 || err != nil {
		t.Errorf("a directory without Results: %v, %v", runs, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "x.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Results(dir); err == nil {
		t.Error("a broken Result is read")
	}
}

// TestCost: a release has costs of its own where a file has them.
func TestCost(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "machine-2.0.5.hcl")
	if err := os.WriteFile(own, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for release, want := range map[string]string{"2.0.5": own, "1.4.3": filepath.Join(dir, "machine.hcl")} {
		if got := Cost(dir, release); got != want {
			t.Errorf("%s has its costs in %s, want %s", release, got, want)
		}
	}
}
