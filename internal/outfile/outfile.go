// Package outfile writes output: files that appear whole or not at all, on every system that this
// module is built for.
package outfile

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write writes a file, in place of one of that name, whose permissions it then takes over. If that
// fails, what was there stays. The error names the file that was asked for, and not the one beside
// it that takes its place in the end. What is no regular file, as a device, is not replaced.
func Write(path string, data []byte, perm fs.FileMode) error {
	if err := write(path, data, perm); err != nil {
		return fmt.Errorf("write %s: %w", path, bare(err))
	}
	return nil
}

func write(path string, data []byte, perm fs.FileMode) error {
	old, statErr := os.Stat(path)
	if statErr == nil && !old.Mode().IsRegular() && !old.IsDir() {
		return errors.New("it is no regular file")
	}
	beside := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"-"+rand.Text())
	f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, perm)
	if err != nil {
		return err
	}
	if statErr == nil && !old.IsDir() {
		err = f.Chmod(old.Mode().Perm())
	}
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(beside, path)
	}
	if err != nil {
		_ = os.Remove(beside) // the first error says more
	}
	return err
}

// bare returns an error without the names of files.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}
