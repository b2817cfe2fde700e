package nomadproc

import (
	"errors"
	"fmt"
	"os"

	"github.com/simctl/simctl/internal/filelock"
)

// takeLock takes the lock of a directory, which ends with this process at the latest. The lock is
// a file beside the directory that stays.
func takeLock(dir string) (*os.File, error) {
	f, err := filelock.Take(dir + ".lock")
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fmt.Errorf("%w in %s that another simctl starts, uses or ends: wait for it, or use another --dir", ErrExists, dir)
	}
	return f, err
}

func (c *Cluster) unlock() {
	if c.claim != nil {
		_ = c.claim.Close()
		c.claim = nil
	}
	if c.lock != nil {
		_ = c.lock.Close() // which unlocks it
		c.lock = nil
	}
}
