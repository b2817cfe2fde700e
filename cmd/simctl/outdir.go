package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
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
	if target == "" {
		return nil, usageErrorf(`--out "": want the name of a directory`)
	}
	info, err := os.Stat(target)
	if err == nil && !info.IsDir() {
		return nil, usageErrorf("--out %q: it is a file; want a directory, which need not exist", target)
	}
	d := &outDir{target: target, exists: err == nil}
	near := target
	for err != nil {
		// The hidden directory goes into the nearest parent that exists, so that a failure
		// leaves no new parents to remove.
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, unwritable(target, err)
		}
		near = filepath.Dir(near)
		_, err = os.Stat(near)
	}
	d.stage = filepath.Join(near, ".simctl-"+rand.Text())
	if err := os.Mkdir(d.stage, 0o777); err != nil {
		return nil, unwritable(target, err)
	}
	return d, nil
}

func unwritable(target string, err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return usageErrorf("--out %q: cannot write there: %w; want a writable directory, which need not exist", target, err)
}

// path returns where to write the file that commit will put into the target.
func (d *outDir) path(name string) string { return filepath.Join(d.stage, name) }

// commit moves everything written so far into the target.
func (d *outDir) commit() error {
	if err := d.publish(); err != nil {
		return fmt.Errorf("publish the results: %w", err)
	}
	return d.discard()
}

func (d *outDir) publish() error {
	if !d.exists {
		if err := os.MkdirAll(filepath.Dir(d.target), 0o777); err != nil {
			return err
		}
		return os.Rename(d.stage, d.target)
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

// discard removes what was not committed. It may be called after commit.
func (d *outDir) discard() error {
	if err := os.RemoveAll(d.stage); err != nil {
		return fmt.Errorf("remove the unfinished results in %s: %w", d.stage, err)
	}
	return nil
}
