package sweep

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzJournal: whatever a crash left of a journal, it can be opened, what it says of runs is
// read, and what is recorded afterwards is read beside it.
func FuzzJournal(f *testing.F) {
	line, err := json.Marshal(entry{Key: "k", Label: "nodes=5", File: "runs/k.json", Attempts: 1})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add(append(line, '\n'))
	f.Add(append(append(line, '\n'), line[:20]...))
	f.Add([]byte("\x00\x00\n" + string(line)))
	f.Add([]byte(strings.Repeat("x", 1<<20+1) + "\n" + string(line)))
	f.Fuzz(func(t *testing.T, text []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, journalName), text, 0o666); err != nil {
			t.Fatal(err)
		}
		j, err := OpenJournal(dir)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.SplitSeq(string(text), "\n") {
			var e entry
			if json.Unmarshal([]byte(line), &e) == nil && e.Key != "" && j.known[e.Key].Key != e.Key {
				t.Errorf("the journal does not know %q of its line %q", e.Key, line)
			}
		}
		known := maps.Clone(j.known)
		if _, err := j.Record(Run{key: "new"}, "label", "v1", 2, nil, errors.New("why\nnot")); err != nil {
			t.Fatal(err)
		}
		known["new"] = entry{Key: "new", Label: "label", Build: "v1", Attempts: 2, Error: "why not"}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
		again, err := OpenJournal(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		if !maps.Equal(again.known, known) {
			t.Errorf("the journal has %v, want %v", again.known, known)
		}
	})
}

// TestAbandon: a sweep that is given up before its first run leaves what was there.
func TestAbandon(t *testing.T) {
	for _, there := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "sweep")
		if there {
			if err := os.Mkdir(dir, 0o777); err != nil {
				t.Fatal(err)
			}
		}
		j, err := OpenJournal(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Abandon(); err != nil {
			t.Fatal(err)
		}
		left, err := os.ReadDir(dir)
		if (err == nil) != there || len(left) > 0 {
			t.Errorf("the directory was there: %v; left %v (%v)", there, left, err)
		}
	}
}
