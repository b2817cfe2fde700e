package serve

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/internal/filelock"
)

// TestDataDir: what was acknowledged is there when a cluster is served again, down to the
// definition of the job, its evaluations and allocations, the nodes and a paused broker.
func TestDataDir(t *testing.T) {
	t.Parallel()
	o := options()
	o.DataDir, o.Nodes, o.RPCAddr = filepath.Join(t.TempDir(), "new", "dir"), 3, ""
	client := func(where Where) *api.Client {
		c, err := api.NewClient(&api.Config{Address: "http://" + where.HTTP.String()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	var placed []string
	var evalID string
	var index uint64
	t.Run("first", func(t *testing.T) {
		c := client(start(t, o))
		threeReady(t, c)
		job := api.NewServiceJob("web", "web", "global", 50)
		job.Meta = map[string]string{"kept": "yes"}
		job.AddTaskGroup(api.NewTaskGroup("g", 2).AddTask(api.NewTask("t", "mock_driver")))
		registered, meta, err := c.Jobs().Register(job, nil)
		if err != nil {
			t.Fatal(err)
		}
		evalID, index = registered.EvalID, meta.LastIndex
		for running := 0; running < 2; {
			allocs, meta, err := c.Jobs().Allocations("web", false, &api.QueryOptions{WaitIndex: index})
			if err != nil {
				t.Fatal(err)
			}
			running, index, placed = 0, meta.LastIndex, nil
			for _, a := range allocs {
				placed = append(placed, a.ID)
				if a.ClientStatus == "running" {
					running++
				}
			}
		}
		cfg, _, err := c.Operator().SchedulerGetConfiguration(nil)
		if err != nil {
			t.Fatal(err)
		}
		cfg.SchedulerConfig.PauseEvalBroker = true
		if _, _, err := c.Operator().SchedulerSetConfiguration(cfg.SchedulerConfig, nil); err != nil {
			t.Fatal(err)
		}
		again := o
		if err := Run(t.Context(), again, nil); err == nil || !strings.HasSuffix(err.Error(), "another simctl serve uses it: end that one, or choose another directory") {
			t.Errorf("a directory in use: %v", err)
		}
	})
	t.Run("second", func(t *testing.T) {
		c := client(start(t, o))
		job, meta, err := c.Jobs().Info("web", nil)
		if err != nil || job.Meta["kept"] != "yes" || meta.LastIndex > index {
			t.Errorf("job %+v at %+v, %v", job, meta, err)
		}
		allocs, _, err := c.Jobs().Allocations("web", false, nil)
		if err != nil || len(allocs) != 2 || allocs[0].ID != placed[0] || allocs[1].ID != placed[1] {
			t.Errorf("allocations %+v, %v", allocs, err)
		}
		if e, _, err := c.Evaluations().Info(evalID, nil); err != nil || e.Status != "complete" {
			t.Errorf("evaluation %+v, %v", e, err)
		}
		if cfg, _, err := c.Operator().SchedulerGetConfiguration(nil); err != nil || !cfg.SchedulerConfig.PauseEvalBroker {
			t.Errorf("scheduler configuration %+v, %v", cfg, err)
		}
		if nodes, _, err := c.Nodes().List(nil); err != nil || len(nodes) != 3 {
			t.Errorf("%d nodes, %v", len(nodes), err)
		}
		threeReady(t, c)
		registered, _, err := c.Jobs().EvaluateWithOpts("web", api.EvalOptions{}, nil)
		if err != nil || registered == evalID {
			t.Errorf("evaluation %q after %q, %v", registered, evalID, err)
		}
	})
}

// threeReady waits for all nodes of a cluster, of which it has three.
func threeReady(t *testing.T, c *api.Client) {
	t.Helper()
	for from := uint64(0); ; {
		nodes, meta, err := c.Nodes().List(&api.QueryOptions{WaitIndex: from})
		if err != nil || len(nodes) > 3 {
			t.Fatalf("%d nodes, %v", len(nodes), err)
		}
		ready := 0
		for _, n := range nodes {
			if n.Status == "ready" {
				ready++
			}
		}
		if from = meta.LastIndex; ready == 3 {
			return
		}
	}
}

// TestDataDirsOfOthers are refused, and nothing is written to them.
func TestDataDirsOfOthers(t *testing.T) {
	for want, file := range map[string]struct{ name, text string }{
		"no cluster of simctl serve": {"raft/raft.db", ""},
		"is damaged":                 {labelFile, "{"},
		"simctl v0 wrote it, and this is v1, which reads other logs": {labelFile, `{"log_layout": "0", "simctl": "v0", "servers": 3}`},
		"it is a file; want a directory, which need not exist":       {"", ""},
	} {
		o := options()
		o.DataDir, o.Build = t.TempDir(), "v1"
		path := filepath.Join(o.DataDir, file.name)
		if file.name == "" {
			o.DataDir = filepath.Join(o.DataDir, "file")
			path = o.DataDir
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(file.text), 0o644); err != nil {
			t.Fatal(err)
		}
		wantRefused(t, o, want)
		if _, err := os.Stat(filepath.Join(o.DataDir, lockFile)); err == nil {
			t.Errorf("%s: there is a lock in it", want)
		}
	}
	o := options()
	o.DataDir = filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("nowhere", o.DataDir); err != nil {
		t.Fatal(err)
	}
	wantRefused(t, o, "; want a writable directory, which need not exist")
	o.DataDir = t.TempDir()
	lock, err := o.takeDataDir()
	if err != nil {
		t.Fatal(err)
	}
	wantRefused(t, o, "another simctl serve uses it")
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	o.Servers = 5
	wantRefused(t, o, "its cluster is of another size: give --servers 3, or another directory")
	if again, err := filelock.Take(filepath.Join(o.DataDir, lockFile)); err != nil {
		t.Errorf("whoever is refused keeps the lock: %v", err)
	} else {
		again.Close()
	}
}

func wantRefused(t *testing.T, o Options, why string) {
	t.Helper()
	err := Run(t.Context(), o, nil)
	bad, ok := errors.AsType[*DataDirError](err)
	if !ok || !strings.Contains(bad.Text, why) || strings.Contains(err.Error(), "\n") || !strings.HasPrefix(err.Error(), "--data-dir "+o.DataDir+": ") {
		t.Errorf("%s: error %v, want %q", o.DataDir, err, why)
	}
}

// TestFullDisk: whoever serves from a disk that is full is told what to do, when it starts and later.
func TestFullDisk(t *testing.T) {
	o := options()
	o.DataDir = t.TempDir()
	const want = "no space left on device: make room in "
	asked := 0
	err := o.watchDisk(t.Context(), func() error {
		if asked++; asked < 2 {
			return nil
		}
		return fmt.Errorf("server-1 cannot write its Raft log: %w", syscall.ENOSPC)
	})
	if err == nil || !strings.Contains(err.Error(), want+o.DataDir) {
		t.Errorf("while it serves: %v, want %q", err, want)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := o.watchDisk(ended, func() error { return nil }); err != nil {
		t.Errorf("at the end: %v", err)
	}
	for _, err := range []error{
		o.noRoom(&fs.PathError{Op: "write", Path: "raft.db", Err: syscall.ENOSPC}),
		o.noRoom(fmt.Errorf("label the data directory: %w", syscall.ENOSPC)),
	} {
		if !strings.Contains(err.Error(), want+o.DataDir) {
			t.Errorf("at the start: %v, want %q", err, want)
		}
	}
	if other := errors.New("other"); o.noRoom(other) != other {
		t.Errorf("another error: %v", o.noRoom(other))
	}
}
