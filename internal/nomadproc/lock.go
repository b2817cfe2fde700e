package nomadproc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// takeLock takes the lock of a directory, which ends with this process at the latest. The lock is
// a file beside the directory that stays.
func takeLock(dir string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, fmt.Errorf("%w in %s that another simctl starts, uses or ends: wait for it, or use another --dir", ErrExists, dir)
	}
	return nil, fmt.Errorf("lock %s.lock: %w", dir, err)
}

func (c *Cluster) unlock() {
	if c.lock != nil {
		_ = c.lock.Close() // which unlocks it
		c.lock = nil
	}
}
