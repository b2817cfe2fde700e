package main

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode"

	"github.com/simctl/simctl/internal/outfile"
	"github.com/simctl/simctl/reports"
)

// outDir is a directory of results that appears as a whole or not at all. Files are
// written to a hidden directory on the same file system, and commit renames them into
// place. Until then the target stays as it was.
type outDir struct {
	target string
	stage  string
	// exists reports whether target was there before. Files then move into it one by one,
	// replace those of the same name, and leave the others alone.
	exists bool
}

// newOutDir opens target for writing. Neither target nor its parents have to exist. It
// returns a usage error if target cannot be written, so that callers can refuse it before
// they run anything. The caller must call discard at the end, unless commit succeeds.
func newOutDir(target string) (*outDir, error) {
	return newDirOf(fmt.Sprintf("--out %q", target), target)
}

// newReportDir is newOutDir for the report of a sweep, or else of runs. It returns a usage error if the target has a report
// of the other kind, whose page would be replaced.
func newReportDir(target string, sweep bool) (*outDir, error) {
	_, noPage := os.Stat(filepath.Join(target, reports.PageName))
	_, noSweep := os.Stat(filepath.Join(target, reports.SweepSummaryName))
	if noPage == nil && sweep != (noSweep == nil) {
		kinds := []string{"runs", "a sweep"}
		if !sweep {
			slices.Reverse(kinds)
		}
		return nil, usageErrorf("--out %q: the report of %s is there, which the report of %s would replace: name another directory", target, kinds[0], kinds[1])
	}
	return newOutDir(target)
}

// newDatedDir opens a new directory below results for runs of a scenario. Runs that begin within the
// same second get one each.
func newDatedDir(scenario string) (*outDir, error) {
	name := filepath.Join("results", scenario+"-"+time.Now().Format("20060102-150405"))
	for n := 1; ; n++ {
		target := name
		if n > 1 {
			target += fmt.Sprintf("-%d", n)
		}
		if _, err := os.Stat(target); err == nil {
			continue
		}
		d, err := newOutDir(target)
		if _, taken := errors.AsType[*takenError](err); !taken {
			return d, err
		}
	}
}

// newDirOf is newOutDir for a target that errors call said.
func newDirOf(said, target string) (*outDir, error) {
	if target == "" {
		return nil, usageErrorf("%s: want the name of a directory", said)
	}
	if target == "-" {
		return nil, usageErrorf("%s: stdout has another use here; want a directory, which need not exist", said)
	}
	if err := checkName(said, target); err != nil {
		return nil, err
	}
	info, err := os.Stat(target)
	if err == nil && !info.IsDir() {
		return nil, usageErrorf("%s: it is a file; want a directory, which need not exist", said)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if _, err := os.Lstat(target); err == nil { // no directory can take its name
			return nil, usageErrorf("%s: it is a link to what is not there; want a directory, which need not exist", said)
		}
	}
	d := &outDir{target: target, exists: err == nil}
	d.stage, err = stageNear(target)
	if _, ok := errors.AsType[*takenError](err); ok {
		return nil, usageErrorf("%s: %w", said, err)
	}
	if err != nil {
		return nil, usageErrorf("%s: cannot write there: %w; want a writable directory, which need not exist", said, err)
	}
	return d, nil
}

// checkName returns a usage error for a name that would not stay within a line.
func checkName(said, name string) error {
	if strings.ContainsFunc(name, func(r rune) bool { return unicode.In(r, unicode.Cc, unicode.Bidi_Control) }) {
		return usageErrorf("%s: want a name without control characters", said)
	}
	return nil
}

// stageNear makes a hidden directory in target or, so that a failure leaves no new parents to
// remove, in its nearest parent that exists.
func stageNear(target string) (string, error) {
	full, err := filepath.Abs(target)
	if err != nil {
		return "", err
	}
	near := target
	_, err = os.Stat(near)
	for errors.Is(err, fs.ErrNotExist) {
		if filepath.Base(near) == ".." {
			return "", fmt.Errorf("%s does not exist, and .. follows it", parent(near))
		}
		near = parent(near)
		_, err = os.Stat(near)
	}
	// The name says for which target it is, and which process fills it.
	stage := filepath.Join(near, fmt.Sprintf("%s-%s-%d-%s-%s", hidden, hash(full), os.Getpid(), place(), rand.Text()))
	if err == nil {
		err = os.Mkdir(stage, 0o777)
	}
	if err == nil {
		if err = alone(near, hash(full)); err != nil {
			err = errors.Join(err, os.Remove(stage))
		}
	}
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return stage, err
}

// hidden is what the names of hidden directories begin with.
const hidden = ".simctl"

func hash(text string) string {
	h := fnv.New32a()
	h.Write([]byte(text))
	return fmt.Sprintf("%08x", h.Sum32())
}

// place identifies the machine and, on Linux, the container of this process. A number of a process means the same process
// only within one place.
func place() string {
	host, _ := os.Hostname()
	container, _ := os.Readlink("/proc/self/ns/pid")
	return hash(host + container)
}

// parent is filepath.Dir, but keeps each .. of the path: after a symbolic link it does not lead back to where the link is.
func parent(path string) string {
	slash := func(r rune) bool { return r == '/' || r == filepath.Separator }
	dir, _ := filepath.Split(strings.TrimRightFunc(path, slash))
	return cmp.Or(strings.TrimRightFunc(dir, slash), filepath.Dir(dir))
}

// alone returns an error if another process fills a hidden directory for the target with that hash. It removes the hidden
// directories, for any target, of processes that ran in this place and have ended.
func alone(near, target string) error {
	entries, err := os.ReadDir(near)
	if err != nil {
		return err
	}
	for _, e := range entries {
		parts := strings.Split(e.Name(), "-")
		if parts[0] != hidden || len(parts) < 4 {
			continue
		}
		pid, err := strconv.Atoi(parts[2])
		if err != nil || pid == os.Getpid() {
			continue
		}
		stage := filepath.Join(near, e.Name())
		switch alive := running(pid); {
		case alive && parts[1] == target:
			return &takenError{pid, stage}
		case !alive && parts[3] == place():
			_ = os.RemoveAll(stage) // whoever may not remove it can write beside it
		}
	}
	return nil
}

// takenError says that another process writes to a directory.
type takenError struct {
	pid   int
	stage string
}

func (e *takenError) Error() string {
	return fmt.Sprintf("another simctl, process %d, is writing there: wait for it, name another directory, or remove %s if that process is no simctl", e.pid, e.stage)
}

// running reports whether there is a process of that number, of any user. On Windows, finding the process is the answer:
// there is no such signal.
func running(pid int) bool {
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Signal(syscall.Signal(0))
	}
	return err == nil || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission)
}

// checkFile returns a usage error if the file that a flag or a variable of the environment names
// cannot be written. Its directory need not exist: writeFile makes it.
func checkFile(said, path string) error {
	switch info, err := os.Stat(path); {
	case path == "":
		return usageErrorf("%s \"\": want the name of a file", said)
	case checkName("", path) != nil:
		return checkName(fmt.Sprintf("%s %q", said, path), path)
	case path == "-":
		return usageErrorf("%s -: stdout has another use here; want a file", said)
	case err == nil && info.IsDir():
		return usageErrorf("%s %q: it is a directory; want a file", said, path)
	case err == nil && !info.Mode().IsRegular() && said != "$"+stepSummary: // a file would take its place; a summary is appended
		return usageErrorf("%s %q: it is no regular file; want a file, which need not exist", said, path)
	}
	stage, err := stageNear(filepath.Dir(path))
	if err == nil {
		err = os.Remove(stage)
	}
	if err != nil {
		return usageErrorf("%s %q: cannot write there: %w; want a file in a writable directory, which need not exist", said, path, err)
	}
	return nil
}

// writeFile writes a file, whole or not at all, and the directories that lead to it.
func writeFile(path string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return outfile.Write(path, text, 0o644)
}

// older returns the result files in the target that the runs of these brokers will not replace.
func (d *outDir) older(brokers []string) []string {
	names, _ := fs.Glob(os.DirFS(d.target), "*.json") // the pattern is correct
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(brokers, strings.TrimSuffix(name, ".json")) })
}

// path returns where to write the file that commit will put into the target.
func (d *outDir) path(name string) string { return filepath.Join(d.stage, name) }

// commit moves everything written so far into the target.
func (d *outDir) commit() error {
	if err := d.publish(); err != nil {
		return fmt.Errorf("publish the results: %w", err)
	}
	return d.discard(nil)
}

func (d *outDir) publish() error {
	if !d.exists {
		if err := os.MkdirAll(parent(d.target), 0o777); err != nil {
			return err
		}
		err := os.Rename(d.stage, d.target)
		if info, statErr := os.Stat(d.target); err == nil || statErr != nil || !info.IsDir() {
			return err
		}
		// Somebody has made the directory meanwhile.
	}
	entries, err := os.ReadDir(d.stage)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := os.Rename(d.path(e.Name()), filepath.Join(d.target, e.Name())); err != nil {
			return err
		}
	}
	return nil
}

// discard removes what was not committed, and adds what goes wrong there to the error of whoever
// filled the directory. It may be called after commit.
func (d *outDir) discard(err error) error {
	err = d.named(err)
	if removal := os.RemoveAll(d.stage); removal != nil {
		err = errors.Join(err, fmt.Errorf("remove the unfinished results in %s: %w", d.stage, removal))
	}
	return err
}

// named returns an error that names files where commit puts them.
func (d *outDir) named(err error) error {
	if err == nil || !strings.Contains(err.Error(), d.stage) {
		return err
	}
	return &targetError{err, strings.ReplaceAll(err.Error(), d.stage, d.target)}
}

// targetError is an error that names the target in the place of the hidden directory, which is
// gone when somebody reads it.
type targetError struct {
	error
	text string
}

func (e *targetError) Error() string { return e.text }
func (e *targetError) Unwrap() error { return e.error }
