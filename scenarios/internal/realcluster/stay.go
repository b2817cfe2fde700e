package realcluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/cluster/rpc"
)

// What marks the jobs and the nodes of a run, whose value is the run's.
const (
	jobMark = "simctl" // in the metadata
	// jobMemo, in the metadata, too, is the memo of the job's run, for those who have not its file.
	jobMemo = "simctl_memo"
	// nodeMark is an attribute. Those that begin so are no part of a node's class.
	nodeMark = "unique.simctl.run"
)

// Stay is the time that a run spends in a cluster which this program has not started.
type Stay struct {
	*Cluster
	memo *memo
	desk *desk
}

// Cleaned is what a clean-up has found.
type Cleaned struct {
	Jobs, Nodes int
	Settings    bool // of the servers were as a run had left them
}

// Any reports whether it has found something.
func (c Cleaned) Any() bool { return c != Cleaned{} }

// How long a clean-up goes on although servers do not answer, and the time between two tries.
const (
	leaveFor   = 3 * time.Minute
	retryAfter = time.Second
)

// About is what a cluster says of itself.
type About struct {
	Version string
	Servers int
	Cores   int // of the server that has the fewest; 0 = they do not say
	// Settings are those of the first server's configuration, as the API shows them.
	Settings map[string]any
}

// Look asks a cluster what it is. The error wraps ErrUnsuited if Enter would find that it will not
// do. A run needs every server. If some are silent, Look does as much of the clean-up, with which Enter would begin, as the
// others allow, and calls found as Enter does.
func Look(ctx context.Context, cfg Config, dir string, found func(Cleaned)) (*About, error) {
	c, err := dialSome(cfg)
	if err != nil {
		return nil, err
	}
	d, err := c.takeDesk(dir)
	if err != nil {
		return nil, err
	}
	defer d.leave()
	if c.silent != nil {
		left, err := c.finish(ctx, d)
		if left.Any() {
			found(left)
		}
		return nil, cmp.Or(err, c.silent)
	}
	if err := c.attach(); err != nil {
		return nil, err
	}
	c.Close()
	m, err := d.read()
	if err == nil {
		if m == nil {
			m = &memo{}
		}
		err = c.refuseOthers(ctx, m.Run)
	}
	about := &About{Version: c.Version, Servers: len(c.servers)}
	for i, s := range c.servers {
		cores, _ := strconv.Atoi(s.self.Stats["runtime"]["cpu_count"]) // 0 if it says nothing
		if i == 0 || cores < about.Cores {
			about.Cores = cores
		}
	}
	about.Settings, _ = c.servers[0].self.Config["Server"].(map[string]any)
	return about, err
}

// dequeueFor is longer than a worker waits for an evaluation that it has asked for (nomad/worker.go,
// dequeueTimeout). One that has been told to stop still takes it.
const dequeueFor = time.Second

// Enter begins a stay: it finishes the clean-up of a run that was killed, refuses a cluster with
// jobs or nodes of others unless Config.Foreign is set, and gives every server so many schedulers.
// Memos are in dir. Found is called with what was cleaned up, if anything was. The error wraps
// ErrUnsuited if the cluster will not do; nothing is changed then.
func Enter(ctx context.Context, cfg Config, dir string, schedulers int, found func(Cleaned)) (_ *Stay, err error) {
	c, err := dial(cfg)
	if err != nil {
		return nil, err
	}
	s := &Stay{Cluster: c}
	if s.desk, err = c.takeDesk(dir); err != nil {
		return nil, err
	}
	left, err := c.finish(ctx, s.desk)
	if err == nil && left.Any() {
		found(left)
	}
	if err == nil {
		err = c.refuseOthers(ctx, "")
	}
	if err == nil {
		s.memo, err = c.memorise(ctx)
	}
	if err == nil {
		s.note, err = s.memo.text()
	}
	if err == nil {
		err = s.desk.write(s.note)
	}
	if err != nil {
		s.desk.leave()
		return nil, err
	}
	if err = c.SetSchedulers(schedulers); err == nil {
		time.Sleep(dequeueFor)
		err = c.attach()
	}
	if err != nil {
		return nil, errors.Join(err, s.Leave())
	}
	return s, nil
}

// Leave ends the stay: jobs and nodes of the run go, and the servers are as they were. It takes
// its time, also after the run's context has ended. What it cannot do, the next Enter or Cleanup
// does.
func (s *Stay) Leave() error {
	defer s.desk.leave()
	if s.clients != nil {
		s.clients.Close()
	}
	_, err := s.finish(context.Background(), s.desk)
	return err
}

// Cleanup cleans up after a run that was killed, on whatever machine it ran. Some servers may be silent. If the schedulers
// of one of these are to be restored, Cleanup does the rest and returns an error.
func Cleanup(ctx context.Context, cfg Config, dir string) (Cleaned, error) {
	c, err := dialSome(cfg)
	if err != nil {
		return Cleaned{}, err
	}
	d, err := c.takeDesk(dir)
	if err != nil {
		return Cleaned{}, err
	}
	defer d.leave()
	done, left := c.finish(ctx, d)
	if left != nil && !errors.Is(left, errPartly) {
		return done, left
	}
	// What is marked and in no memo here was left by a run of another machine.
	m, err := c.memoOfJobs(ctx)
	if err != nil {
		return done, err
	}
	for _, of := range []*memo{m, {Foreign: true}} {
		gone, err := c.clean(ctx, of)
		done = Cleaned{done.Jobs + gone.Jobs, done.Nodes + gone.Nodes, done.Settings || gone.Settings}
		if err != nil {
			return done, err
		}
	}
	if left == nil && len(c.untouched(m)) > 0 {
		left = c.partly(m)
	}
	return done, left
}

// errPartly says that a clean-up is done but for servers that are silent.
var errPartly = errors.New("num_schedulers are as the run left them, unless the server has started anew since")

// partly returns an error about the servers that a clean-up could not reach.
func (c *Cluster) partly(m *memo) error {
	servers := slices.Sorted(maps.Keys(c.untouched(m)))
	return fmt.Errorf("clean up after run %s: server %s: %w: simctl nomad cleanup sets them when it answers: %w", m.Run, strings.Join(servers, ", "), errPartly, c.silent)
}

// untouched returns how servers were that are silent.
func (c *Cluster) untouched(m *memo) map[string]workers {
	if c.silent == nil {
		return nil
	}
	of := maps.Clone(m.Workers)
	for _, s := range c.servers {
		delete(of, s.rpc)
	}
	return of
}

// finish does what the memo on the desk demands, if there is one, and removes it.
func (c *Cluster) finish(ctx context.Context, d *desk) (done Cleaned, err error) {
	m, err := d.read()
	if m == nil || err != nil {
		return done, err
	}
	ctx, cancel := context.WithTimeout(ctx, leaveFor)
	defer cancel()
	index := uint64(0)
	err = persist(ctx, func() error {
		return c.call(func(client *api.Client) (err error) {
			index, err = lastIndex(client)
			return err
		})
	})
	if err == nil && index >= m.Index {
		done, err = c.clean(ctx, m)
	}
	if err != nil {
		return done, fmt.Errorf("clean up after run %s: %w: simctl nomad cleanup goes on with it", m.Run, err)
	}
	rest := c.untouched(m)
	if len(rest) == 0 {
		return done, d.clear()
	}
	left := c.partly(m)
	m.Workers, m.Rest = rest, true
	text, err := m.text()
	if err == nil {
		err = d.write(text)
	}
	return done, errors.Join(left, err)
}

// clean undoes what a run has changed, and purges its jobs and nodes; those of every run if the
// memo names none.
func (c *Cluster) clean(ctx context.Context, m *memo) (done Cleaned, err error) {
	if m.Run != "" && !m.Rest {
		err = persist(ctx, func() error {
			now, err := c.paused(ctx)
			if err == nil && now != m.Paused {
				done.Settings = true
				err = c.PauseEvalBroker(ctx, m.Paused)
			}
			return err
		})
	}
	var silent []*server // which must not keep the others' jobs and nodes from going
	for i := 0; i < len(c.servers) && err == nil; i++ {
		if want, ok := m.Workers[c.servers[i].rpc]; ok {
			if err = c.servers[i].restore(want, &done.Settings); passes(err) {
				silent, err = append(silent, c.servers[i]), nil
			}
		}
	}
	for found := true; found && err == nil; {
		// Once more after the last: a registration may have been under way.
		err = persist(ctx, func() error {
			jobs, nodes, err := c.purge(ctx, m.Run)
			done.Jobs, done.Nodes, found = done.Jobs+jobs, done.Nodes+nodes, jobs+nodes > 0
			return err
		})
	}
	if err == nil && !m.Foreign {
		err = c.collect(ctx)
	}
	for i := 0; i < len(silent) && err == nil; i++ {
		if err = persist(ctx, func() error { return silent[i].restore(m.Workers[silent[i].rpc], &done.Settings) }); err != nil {
			err = fmt.Errorf("set num_schedulers of the server %s as they were: %w", silent[i].rpc, err)
		}
	}
	return done, err
}

// passes reports whether an error is that nobody answers or nobody leads. Servers that have lost their leader have many
// words for it, so that any failure of their own counts as that.
func passes(err error) bool {
	return rpc.Passes(err) ||
		err != nil && strings.Contains(err.Error(), unexpectedResponse+" 500") && !errors.Is(err, ErrUnsuited)
}

// persist repeats a request while its error passes.
func persist(ctx context.Context, do func() error) error {
	for {
		err := do()
		if !passes(err) {
			return err
		}
		select {
		case <-time.After(retryAfter):
		case <-ctx.Done():
			return fmt.Errorf("%w (%w)", err, context.Cause(ctx))
		}
	}
}

// paused reports whether the broker is.
func (c *Cluster) paused(ctx context.Context) (paused bool, err error) {
	err = c.call(func(client *api.Client) error {
		now, _, err := client.Operator().SchedulerGetConfiguration((&api.QueryOptions{}).WithContext(ctx))
		paused = err == nil && now.SchedulerConfig != nil && now.SchedulerConfig.PauseEvalBroker
		return err
	})
	return paused, err
}

// restore gives a server the schedulers that it had.
func (s *server) restore(want workers, changed *bool) error {
	now, err := s.client.Agent().GetSchedulerWorkerConfig(nil)
	if err != nil {
		return asError(err)
	}
	if reflect.DeepEqual(*now, want) {
		return nil
	}
	*changed = true
	return s.setWorkers(want)
}

// collectFor is how long garbage may take to go. On 2.0.5, the evaluation of a system job that is
// purged while it runs fails ("cannot submit plan without job info"), three times, the last one 21 seconds after the first.
const collectFor = 45 * time.Second

// collect makes the servers forget evaluations and whatever else is over, so that the next run
// finds the cluster empty. It gives up after a while: that is not essential.
func (c *Cluster) collect(ctx context.Context) error {
	for began := time.Now(); time.Since(began) < collectFor; time.Sleep(retryAfter) {
		left := 0
		err := persist(ctx, func() error {
			return c.call(func(client *api.Client) error {
				all, _, err := client.Evaluations().List((&api.QueryOptions{Namespace: api.AllNamespacesNamespace, PerPage: 1}).WithContext(ctx))
				if left = len(all); err != nil || left == 0 {
					return err
				}
				return client.System().GarbageCollect()
			})
		})
		if err != nil || left == 0 {
			return err
		}
	}
	return nil
}
