package nomadproc

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/internal/daemon"
	"github.com/simctl/simctl/internal/outfile"
	"github.com/simctl/simctl/internal/rusage"
)

const configFlag = "-config="

// pollEvery is the time between two looks at what has no other way to tell.
const pollEvery = 50 * time.Millisecond

// Cluster is a cluster of servers in a directory.
type Cluster struct {
	Dir     string   `json:"-"`
	Bin     string   `json:"bin"`
	Version string   `json:"version"` // as the program says: 1.4.2
	Servers []Server `json:"servers"`
	// Up says that the start of the cluster went through, up to its leader. A cluster that is not up is what a killed start
	// has left.
	Up bool `json:"up"`
	// Held says that the cluster ends with the process that holds its lock.
	Held bool `json:"held,omitempty"`

	lock  *os.File     // nil unless this process holds the cluster
	claim net.Listener // on its ports, also while servers are killed; nil as lock is
}

const stateFile = "cluster.json"

// startFor is how long servers may take until they have a leader.
const startFor = time.Minute

// Errors that callers tell apart.
var (
	// ErrNone says that there is no cluster in a directory.
	ErrNone = errors.New("no cluster")
	// ErrExists says that there is one already.
	ErrExists = errors.New("there is a cluster")
	// ErrProgram says that a program is no Nomad that runs here.
	ErrProgram = errors.New("not Nomad")
	// ErrSetting says that a setting cannot be.
	ErrSetting = errors.New("impossible setting")
)

// DefaultDir is the directory of the cluster of a user who names none.
func DefaultDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a directory for the cluster: %w", err)
	}
	return filepath.Join(cache, "simctl", "nomad"), nil
}

// VersionOf asks a program which version of Nomad it is. The error wraps ErrProgram.
func VersionOf(ctx context.Context, bin string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, startFor)
	defer cancel()
	out, err := exec.CommandContext(ctx, bin, "version").Output()
	first, _, _ := strings.Cut(string(out), "\n")
	version, ok := strings.CutPrefix(first, "Nomad v")
	switch {
	case err != nil:
		return "", fmt.Errorf("%w: %s version: %w", ErrProgram, bin, err)
	case !ok:
		return "", fmt.Errorf("%w: %s version says %q", ErrProgram, bin, first)
	}
	version, _, _ = strings.Cut(version, " ")
	return version, nil
}

// Start starts a cluster in a directory and waits for its leader. What a killed start left there
// is cleaned up first. With held, the cluster ends with this process: at Down, or when the next
// Start finds that the process is gone. After an error nothing runs.
func Start(ctx context.Context, dir, bin string, set Settings, held bool) (_ *Cluster, err error) {
	if err := set.Check(); err != nil {
		return nil, err
	}
	if bin, err = filepath.Abs(bin); err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err != nil {
		return nil, err
	}
	version, err := VersionOf(ctx, bin)
	if err != nil {
		return nil, err
	}
	lock, err := takeLock(dir)
	if err != nil {
		return nil, err
	}
	started := &Cluster{Dir: dir, Bin: bin, Version: version, Held: held, lock: lock}
	defer func() {
		if !held || err != nil {
			started.unlock()
		}
	}()
	if err := clearRemains(dir); err != nil {
		return nil, err
	}
	if started.Servers, started.claim, err = layOut(set.Servers); err != nil {
		return nil, err
	}
	if err := started.start(ctx, set); err != nil {
		return nil, errors.Join(err, started.remove(true))
	}
	return started, nil
}

func (c *Cluster) start(ctx context.Context, set Settings) error {
	for _, s := range c.Servers {
		if err := s.writeConfig(c.Dir, c.Servers, set); err != nil {
			return err
		}
	}
	if err := c.save(); err != nil {
		return err
	}
	for i := range c.Servers {
		if err := c.StartServer(i); err != nil {
			return err
		}
	}
	if err := c.awaitLeader(ctx); err != nil {
		return err
	}
	c.Up = true
	return c.save()
}

// clearRemains removes the cluster in a directory, whose lock is held, if it should not be there
// any more. The error wraps ErrExists if it should.
func clearRemains(dir string) error {
	old, err := Open(dir)
	switch {
	case errors.Is(err, ErrNone):
		return nil
	case err != nil:
		return err
	case !old.Up || old.Held:
		return old.remove(true)
	}
	return fmt.Errorf("%w of Nomad %s in %s already: end it with simctl nomad down, or use another --dir", ErrExists, old.Version, dir)
}

// Open returns the cluster in a directory. The error wraps ErrNone if there is none.
func Open(dir string) (*Cluster, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, stateFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s: start one with simctl nomad up", ErrNone, dir)
	}
	if err != nil {
		return nil, err
	}
	c := &Cluster{Dir: dir}
	if err := json.Unmarshal(text, c); err != nil {
		return nil, fmt.Errorf("%s: %w: it was not written by simctl nomad up, or is damaged; end what runs there and remove the directory", filepath.Join(dir, stateFile), err)
	}
	return c, nil
}

func (c *Cluster) save() error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	return outfile.Write(filepath.Join(c.Dir, stateFile), append(text, '\n'), 0o644)
}

// Down ends the servers and removes what they stored. Nobody else may be starting or using them.
func (c *Cluster) Down() error {
	if c.lock == nil {
		lock, err := takeLock(c.Dir)
		if err != nil {
			return err
		}
		c.lock = lock
	}
	defer c.unlock()
	return c.remove(false)
}

// remove ends the servers and removes what they stored, at once if hard is set. The lock is held.
// The state file goes last, so that a removal that is broken off can be repeated.
func (c *Cluster) remove(hard bool) error {
	ended := make(chan error, len(c.Servers))
	for _, s := range c.Servers {
		go func() { ended <- daemon.End(s.argument(c.Dir), hard) }()
	}
	var errs []error
	for range c.Servers {
		errs = append(errs, <-ended)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, s := range c.Servers {
		errs = append(errs, os.RemoveAll(s.dir(c.Dir)))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := os.Remove(filepath.Join(c.Dir, stateFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_ = os.Remove(c.Dir) // something else may be in it
	return nil
}

// StartServer starts server number i, which must not run.
func (c *Cluster) StartServer(i int) error { return c.Servers[i].start(c.Bin, c.Dir) }

// KillServer ends server number i as a crash does.
func (c *Cluster) KillServer(i int) error { return daemon.End(c.Servers[i].argument(c.Dir), true) }

// PID returns the process of server number i; zero if it does not run.
func (c *Cluster) PID(i int) int {
	pids, err := daemon.Running(c.Servers[i].argument(c.Dir))
	if err != nil || len(pids) == 0 {
		return 0
	}
	return pids[0]
}

// Worked returns for how long the processors of this machine, and how many, have worked since it was started, for
// the servers and for all others, and for how long its host took them away; zero if the system does not tell.
func (c *Cluster) Worked() (spent, stolen time.Duration, processors int) { return rusage.Machine() }

// MemoryRead returns how long a read of this machine's memory takes (rusage.ReadTime); zero if the system does not tell.
func (c *Cluster) MemoryRead() time.Duration { return rusage.ReadTime() }

// awaitLeader waits until every server answers, knows a leader and has all others as its peers.
func (c *Cluster) awaitLeader(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startFor)
	defer cancel()
	for {
		var last error
		for _, s := range c.Servers {
			if last = s.sees(ctx, len(c.Servers)); last != nil {
				break
			}
		}
		if last == nil {
			return nil
		}
		for i, s := range c.Servers {
			if ctx.Err() == nil && c.PID(i) == 0 {
				return fmt.Errorf("%s ended; it said last: %s", s.Name, s.lastWords(c.Dir))
			}
		}
		select {
		case <-time.After(pollEvery):
		case <-ctx.Done():
			return fmt.Errorf("the servers have no leader: %w (%v); %s said last: %s", context.Cause(ctx), oneLine(last), c.Servers[0].Name, c.Servers[0].lastWords(c.Dir))
		}
	}
}

// sees returns nil if a server answers and knows of a leader and of so many servers.
func (s Server) sees(ctx context.Context, servers int) error {
	leader, err := s.leader(ctx)
	if err != nil {
		return err
	}
	var peers []string
	err = s.ask(ctx, "/v1/status/peers", &peers)
	if err == nil && (leader == "" || len(peers) != servers) {
		err = fmt.Errorf("%s: leader %q, %d of %d servers", s.Name, leader, len(peers), servers)
	}
	return err
}

// leader returns the RPC address of who leads, as the server says; empty if nobody does.
func (s Server) leader(ctx context.Context) (address string, err error) {
	err = s.ask(ctx, "/v1/status/leader", &address)
	return address, err
}

// patience bounds one request: a server that is stopped takes requests and does not answer.
const patience = 10 * time.Second

// asking keeps the connections to all servers.
var asking = &http.Client{Timeout: patience}

// ask asks the server's API, whatever the environment says.
func (s Server) ask(ctx context.Context, path string, answer any) error {
	client, err := api.NewClient(&api.Config{Address: "http://" + s.HTTP, HttpClient: asking})
	if err == nil {
		_, err = client.Raw().Query(path, answer, (&api.QueryOptions{}).WithContext(ctx))
	}
	return err
}

// lastWords returns the last line of the server's log.
func (s Server) lastWords(dir string) string {
	text, err := os.ReadFile(s.log(dir))
	if err != nil {
		return oneLine(err)
	}
	line := strings.TrimSpace(string(text))
	return cmp.Or(line[strings.LastIndexByte(line, '\n')+1:], "nothing")
}

// oneLine returns the text of an error, of which those of the API have several lines.
func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
