package realcluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/internal/filelock"
	"github.com/simctl/simctl/internal/outfile"
	"github.com/simctl/simctl/internal/redact"
)

// memo is what the end of a stay must know. It is in a file from before the first change until
// everything is as it was, so that whoever finds it can finish for a run that was killed.
type memo struct {
	Run       string             `json:"run"`       // marks its jobs and nodes
	Addresses []string           `json:"addresses"` // of the API, for people
	Index     uint64             `json:"index"`     // of the log's last entry: a log that is shorter is another cluster's
	Foreign   bool               `json:"foreign"`   // jobs and nodes of others may be there
	Paused    bool               `json:"paused"`    // the broker was paused before the stay
	Workers   map[string]workers `json:"workers"`   // schedulers of each server before the stay, by its RPC address
	// Rest says that all has been undone, except that these workers are still to be restored.
	Rest bool `json:"rest,omitempty"`
}

// desk is where the memo of a cluster lies. Who has its lock may stay there.
type desk struct {
	path string
	lock *os.File
}

// takeDesk takes the desk of a cluster, which is known by the addresses of its servers or, if some are silent, by a memo that
// names the others. The error wraps ErrUnsuited if another process has it.
func (c *Cluster) takeDesk(dir string) (*desk, error) {
	var servers []string
	for _, s := range c.servers {
		servers = append(servers, s.rpc)
	}
	slices.Sort(servers)
	hash := fnv.New64a()
	fmt.Fprint(hash, servers)
	d := &desk{path: filepath.Join(dir, fmt.Sprintf("elsewhere-%016x.json", hash.Sum64()))}
	if c.silent != nil {
		if err := d.find(dir, servers, c.missing); err != nil {
			return nil, err
		}
	}
	var err error
	d.lock, err = filelock.Take(d.path + ".lock")
	if errors.Is(err, filelock.ErrHeld) {
		return nil, fmt.Errorf("%w: another simctl runs a scenario in it, or cleans up: wait for it", ErrUnsuited)
	}
	return d, err
}

// find makes it the desk whose memo names these servers, and so many more, if there is one.
func (d *desk) find(dir string, servers []string, more int) error {
	names, err := fs.Glob(os.DirFS(dir), "elsewhere-*.json")
	for _, name := range names {
		path := filepath.Join(dir, name)
		m, bad := (&desk{path: path}).read()
		if bad != nil {
			return bad
		}
		named := func(rpc string) bool { _, ok := m.Workers[rpc]; return ok }
		if m != nil && len(m.Workers) == len(servers)+more && !slices.ContainsFunc(servers, func(rpc string) bool { return !named(rpc) }) {
			d.path = path
		}
	}
	return err
}

func (d *desk) leave() { _ = d.lock.Close() } // which unlocks it

// read returns the memo on the desk; nil if there is none.
func (d *desk) read() (*memo, error) {
	text, err := os.ReadFile(d.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	m := &memo{}
	if err == nil {
		err = json.Unmarshal(text, m)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w: it says what a killed run has changed; if it is damaged, set num_schedulers and pause_eval_broker by hand and remove it", d.path, err)
	}
	return m, nil
}

// text returns the memo as it is kept.
func (m *memo) text() (string, error) {
	text, err := json.Marshal(m)
	return string(text), err
}

func (d *desk) write(text string) error {
	if err := os.MkdirAll(filepath.Dir(d.path), 0o755); err != nil {
		return err
	}
	return outfile.Write(d.path, []byte(text+"\n"), 0o600)
}

// memoOfJobs returns the memo that some job of a run carries in its metadata. Without one it returns a memo without Workers.
func (c *Cluster) memoOfJobs(ctx context.Context) (*memo, error) {
	m := &memo{Foreign: true}
	err := c.eachJob(ctx, func(_ *api.Client, j *api.JobListStub, meta map[string]string) (bool, error) {
		text := meta[jobMemo]
		if text == "" {
			return true, nil
		}
		if err := json.Unmarshal([]byte(text), m); err != nil {
			return false, fmt.Errorf("%s in the metadata of job %s: %w: set num_schedulers and pause_eval_broker by hand and purge the job", jobMemo, j.ID, err)
		}
		return false, nil
	})
	return m, err
}

// clear removes the memo.
func (d *desk) clear() error {
	if err := os.Remove(d.path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// memorise returns the memo of a stay that begins now.
func (c *Cluster) memorise(ctx context.Context) (*memo, error) {
	m := &memo{Run: c.cfg.Run, Foreign: c.cfg.Foreign, Workers: map[string]workers{}}
	var err error
	if m.Paused, err = c.paused(ctx); err != nil {
		return nil, err
	}
	for i, s := range c.servers {
		m.Addresses = append(m.Addresses, redact.Passwords(c.cfg.API[i].Address))
		w, err := s.client.Agent().GetSchedulerWorkerConfig(nil)
		if err != nil {
			return nil, fmt.Errorf("ask server %d for num_schedulers: %w", i+1, asError(err))
		}
		m.Workers[s.rpc] = *w
	}
	m.Index, err = lastIndex(c.servers[0].client)
	return m, err
}
