// Package filelock lets one process at a time do something, for as long as it lives.
package filelock

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrHeld says that another process, or another part of this one, has the lock.
var ErrHeld = errors.New("locked")

// Take takes the lock of a file, which it makes and which stays. Whoever closes the file gives it
// back; the end of the process does so, too. The error wraps ErrHeld if somebody has the lock.
func Take(path string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return f, nil
}
