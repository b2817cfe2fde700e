package sweep

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/simctl/simctl/metrics"
)

// Journal is the directory of a sweep while it goes on: a Result file for every run that
// succeeded, and a line for every run that ended. Its contents survive an interrupt and a
// crash of the machine. Its methods may be called from any goroutine.
type Journal struct {
	dir  string
	made bool // the directory was not there before

	mu    sync.Mutex
	file  *os.File
	known map[string]entry // by key; the last one counts
}

// Names in a sweep's directory.
const (
	journalName = "journal.jsonl"
	RunsName    = "runs"
)

// entry is one line.
type entry struct {
	Key      string `json:"key"`
	Label    string `json:"label"`           // for people
	Build    string `json:"build,omitempty"` // of the program that ran it, if that is known
	File     string `json:"file,omitempty"`
	Attempts int    `json:"attempts"`
	Error    string `json:"error,omitempty"`
}

// OpenJournal opens the journal of a directory, which it makes if there is none.
func OpenJournal(dir string) (*Journal, error) {
	_, err := os.Stat(dir)
	j := &Journal{dir: dir, made: errors.Is(err, fs.ErrNotExist), known: map[string]entry{}}
	if err := os.MkdirAll(filepath.Join(dir, RunsName), 0o777); err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	path := filepath.Join(dir, journalName)
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	for line := range bytes.Lines(text) {
		var e entry
		// A crash may leave half a line, of any length, whose run is repeated.
		if json.Unmarshal(line, &e) == nil && e.Key != "" {
			j.known[e.Key] = e
		}
	}
	if j.file, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666); err != nil {
		return nil, fmt.Errorf("open the journal: %w", err)
	}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		if _, err := j.file.WriteString("\n"); err != nil {
			return nil, errors.Join(fmt.Errorf("open the journal: %w", err), j.file.Close())
		}
	}
	return j, nil
}

// Close closes the journal; its directory stays.
func (j *Journal) Close() error { return j.file.Close() }

// Abandon closes a journal. If no run was recorded, nothing stays of what OpenJournal made.
func (j *Journal) Abandon() error {
	info, err := j.file.Stat()
	if err = errors.Join(err, j.file.Close()); err != nil || info.Size() > 0 {
		return err
	}
	empty := []string{filepath.Join(j.dir, journalName), filepath.Join(j.dir, RunsName)}
	if j.made {
		empty = append(empty, j.dir)
	}
	for _, path := range empty {
		_ = os.Remove(path) // fails if there is something in it
	}
	return nil
}

// Find returns the outcome of a run that succeeded before. It is not ok if there is none, if
// its Result is gone, or if another build of the program made it. An empty build takes any.
func (j *Journal) Find(r Run, build string) (out metrics.SweepRun, ok bool) {
	j.mu.Lock()
	e, ok := j.known[r.Key()]
	j.mu.Unlock()
	if !ok || e.Error != "" || build != "" && e.Build != build {
		return metrics.SweepRun{}, false
	}
	res, err := metrics.Load(filepath.Join(j.dir, e.File))
	if err != nil {
		return metrics.SweepRun{}, false
	}
	return j.outcome(r, e, res), true
}

// Record records how a run ended: with a Result, or without one because of why. It returns once
// the Result is on disk.
func (j *Journal) Record(r Run, label, build string, attempts int, res *metrics.Result, why error) (metrics.SweepRun, error) {
	e := entry{Key: r.Key(), Label: label, Build: build, Attempts: attempts}
	if why != nil {
		e.Error = strings.Join(strings.Fields(why.Error()), " ")
	} else {
		e.File = filepath.Join(RunsName, fileName(label, e.Key))
		if err := res.WriteFile(filepath.Join(j.dir, e.File)); err != nil {
			return metrics.SweepRun{}, err
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	err := json.NewEncoder(j.file).Encode(e)
	if err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return metrics.SweepRun{}, fmt.Errorf("write the journal: %w", err)
	}
	j.known[e.Key] = e
	return j.outcome(r, e, res), nil
}

// outcome drops the series of a Result: hundreds of Results fit into memory without them.
func (j *Journal) outcome(r Run, e entry, res *metrics.Result) metrics.SweepRun {
	out := metrics.SweepRun{
		Point: r.Point, Broker: r.Spec.Broker, Seed: r.Spec.Seed, File: filepath.ToSlash(e.File), Attempts: e.Attempts, Error: e.Error,
	}
	if res != nil && e.Error == "" {
		kept := *res
		kept.Series = nil
		out.Result = &kept
	}
	return out
}

// Others returns how many Result files of a sweep's directory are of runs that the sweep has not, such as those of a
// larger grid before it.
func Others(dir string, s *metrics.Sweep) int {
	names, _ := fs.Glob(os.DirFS(dir), RunsName+"/*.json") // the pattern is correct
	files := map[string]bool{}
	for _, r := range s.Runs {
		files[r.File] = true
	}
	return len(slices.DeleteFunc(names, func(name string) bool { return files[name] }))
}

// notPlain matches what a file name of a label must not contain.
var notPlain = regexp.MustCompile(`[^a-zA-Z0-9=,._+-]`)

// fileName makes a file name of a label, for people, and a key, which is unique.
func fileName(label, key string) string {
	plain := notPlain.ReplaceAllString(strings.ReplaceAll(label, " ", ","), "-")
	if len(plain) > 100 {
		plain = plain[:100]
	}
	return plain + "-" + key[:12] + ".json"
}
