package nomadproc

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/simctl/simctl/internal/daemon"
)

// ServerStatus is a server at one instant.
type ServerStatus struct {
	Server
	PID    int    // zero if it does not run
	Leads  bool   // it is the leader
	Silent string // why it does not answer; empty if it does
}

// Status returns every server as it is.
func (c *Cluster) Status(ctx context.Context) ([]ServerStatus, error) {
	var all []ServerStatus
	for _, s := range c.Servers {
		pids, err := daemon.Running(s.argument(c.Dir))
		if err != nil {
			return nil, err
		}
		one := ServerStatus{Server: s, Silent: "it does not run"}
		if len(pids) > 0 {
			one.PID = pids[0]
			leader, err := s.leader(ctx)
			if ctx.Err() != nil {
				return nil, fmt.Errorf("ask %s who leads: %w", s.Name, context.Cause(ctx))
			}
			one.Leads, one.Silent = leader == s.RPC, ""
			if err != nil {
				one.Silent = oneLine(err)
			}
		}
		all = append(all, one)
	}
	return all, nil
}

// StartHeld starts a cluster that ends with this process, in the first directory below parent
// that no other process uses.
func StartHeld(ctx context.Context, parent, bin string, set Settings) (*Cluster, error) {
	const most = 16
	for i := range most {
		c, err := Start(ctx, filepath.Join(parent, fmt.Sprintf("run-%d", i+1)), bin, set, true)
		if !errors.Is(err, ErrExists) {
			return c, err
		}
	}
	return nil, fmt.Errorf("%w in each of %d directories of %s", ErrExists, most, parent)
}

// ClearHeld ends every cluster below parent whose process is gone, and returns how many it ended.
func ClearHeld(parent string) (ended int, err error) {
	files, err := fs.Glob(os.DirFS(parent), "run-*/"+stateFile)
	for _, file := range files {
		dir := filepath.Join(parent, filepath.Dir(file))
		lock, lerr := takeLock(dir)
		if errors.Is(lerr, ErrExists) {
			continue
		}
		c := &Cluster{Dir: dir, lock: lock}
		if err = errors.Join(err, lerr); lerr == nil {
			err = errors.Join(err, clearRemains(dir))
			ended++
		}
		c.unlock()
	}
	return ended, err
}
