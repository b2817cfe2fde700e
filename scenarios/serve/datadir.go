package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/internal/filelock"
	"github.com/simctl/simctl/internal/outfile"
)

// Files of a data directory, beside those of the servers.
const (
	labelFile = "simctl-serve.json"
	lockFile  = "lock"
)

// label says whose data directory it is.
type label struct {
	// Layout is cluster.LogLayout of the build that wrote the logs, and Build its version, for
	// people.
	Layout  string `json:"log_layout"`
	Build   string `json:"simctl"`
	Servers int    `json:"servers"`
}

// DataDirError says why a data directory cannot be taken. Nothing was written to it.
type DataDirError struct {
	Dir, Text string
	err       error
}

func (e *DataDirError) Error() string { return fmt.Sprintf("--data-dir %s: %s", e.Dir, e.Text) }
func (e *DataDirError) Unwrap() error { return e.err }

// takeDataDir takes the data directory for this process, and labels it if it is new. Whoever
// closes the file that is returned gives it back; the end of the process does so, too.
func (o *Options) takeDataDir() (*os.File, error) {
	if _, err := o.checkDataDir(); err != nil {
		return nil, err // without a lock in it
	}
	lock, err := filelock.Take(filepath.Join(o.DataDir, lockFile))
	if errors.Is(err, filelock.ErrHeld) {
		return nil, o.refuse(err, "another simctl serve uses it: end that one, or choose another directory")
	}
	if err != nil {
		return nil, o.refuse(err, "%v; want a writable directory, which need not exist", err)
	}
	labelled, err := o.checkDataDir() // another process may have had it meanwhile
	if err == nil && !labelled {
		err = o.labelDataDir()
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return lock, nil
}

func (o *Options) refuse(err error, format string, args ...any) error {
	return &DataDirError{o.DataDir, fmt.Sprintf(format, args...), err}
}

// checkDataDir reports whether there is a cluster in the data directory, or says why it cannot
// be taken.
func (o *Options) checkDataDir() (labelled bool, err error) {
	kept, err := readLabel(o.DataDir)
	info, statErr := os.Stat(o.DataDir)
	switch {
	case errors.Is(err, errForeign):
		return false, o.refuse(err, "it has files in it and no cluster of simctl serve: choose an empty directory, or a new one")
	case statErr == nil && !info.IsDir():
		return false, o.refuse(err, "it is a file; want a directory, which need not exist")
	case err != nil:
		return false, o.refuse(err, "%v", err)
	case kept == nil:
		return false, nil
	case kept.Layout != cluster.LogLayout():
		return false, o.refuse(nil, "simctl %s wrote it, and this is %s, which reads other logs: use that version, or another directory", kept.Build, o.Build)
	case kept.Servers != o.Servers:
		return false, o.refuse(nil, "its cluster is of another size: give --servers %d, or another directory", kept.Servers)
	}
	return true, nil
}

func (o *Options) labelDataDir() error {
	text, err := json.MarshalIndent(label{cluster.LogLayout(), o.Build, o.Servers}, "", "  ")
	if err == nil {
		err = outfile.Write(filepath.Join(o.DataDir, labelFile), append(text, '\n'), 0o644)
	}
	if err != nil {
		return o.noRoom(fmt.Errorf("label the data directory: %w", err))
	}
	return nil
}

// noRoom adds to an error about a disk that is full what to do.
func (o *Options) noRoom(err error) error {
	if o.DataDir == "" || !errors.Is(err, syscall.ENOSPC) {
		return err
	}
	return fmt.Errorf("%w: make room in %s, or choose another directory", err, o.DataDir)
}

// watchDisk waits until a server has failed to write its Raft log, and returns an error that says so. Such a server never
// leads or follows again.
func (o *Options) watchDisk(ctx context.Context, broken func() error) error {
	tick := time.NewTicker(sampleEvery)
	defer tick.Stop()
	for {
		if err := broken(); err != nil {
			return fmt.Errorf("%w: make room in %s and serve it again: what was acknowledged is there", err, o.DataDir)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

var errForeign = errors.New("no cluster of simctl serve")

// readLabel returns the label of a data directory; nil if there is nothing in it, or no
// directory.
func readLabel(dir string) (*label, error) {
	text, err := os.ReadFile(filepath.Join(dir, labelFile))
	if errors.Is(err, fs.ErrNotExist) {
		files, err := os.ReadDir(dir)
		if err == nil && slices.ContainsFunc(files, func(f os.DirEntry) bool { return f.Name() != lockFile }) {
			return nil, errForeign
		}
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return nil, err
	}
	if err != nil {
		return nil, err
	}
	l := new(label)
	if err := json.Unmarshal(text, l); err != nil || l.Layout == "" {
		return nil, fmt.Errorf("%s in it is damaged: restore it, or choose another directory", labelFile)
	}
	return l, nil
}
