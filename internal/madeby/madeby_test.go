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
