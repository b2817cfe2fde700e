package streams

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/internal/cpu"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/simnet"
	"github.com/simctl/simctl/cluster/state"
)

// Options are what is tried of this design.
type Options struct {
	// LastOnly keeps the last evaluation of each job.
	LastOnly bool
	// Gather is how long a taker of changes waits for more of them after the first, to write one
	// evaluation a job for all; zero means that it takes one at a time.
	Gather time.Duration
	// Partition gives each worker jobs of its own: it alone takes their evaluations, one at a time.
	Partition bool
}

// Cluster is a set of servers of which none leads. Its methods are safe for concurrent use.
type Cluster struct {
	cfg     cluster.Config
	opts    Options
	nats    *server.Server
	nc      *nats.Conn // of the figures
	network *simnet.Network
	pools   []*cpu.Pool
	servers []*host
	started time.Time

	state, evals jetstream.Stream
	changed      jetstream.Consumer
	work         []jetstream.Consumer // one, or one for each worker

	workMu  sync.Mutex // guards work
	journal journal
	busy    cpu.Workload

	mu      sync.Mutex
	dropped uint64 // evaluations, as of the last call of Stats
	// cpu and workers are how much of each was in use at the last call of Stats.
	cpu, workers cpu.Usage
}

// Start starts a cluster. Prepare must have been called outside the bubble, and the caller
// must call Shutdown. The policy of the configuration is of no account, nor is its design.
func Start(ctx context.Context, cfg cluster.Config, opts Options) (_ *Cluster, err error) {
	cfg = cfg.WithDefaults()
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	c := &Cluster{cfg: cfg, opts: opts, started: time.Now(), network: simnet.New(cfg.Seed, cfg.Costs.ServerLink, cfg.Costs.ClientLink)}
	defer func() {
		if err != nil {
			err = errors.Join(err, c.Shutdown())
		}
	}()
	if c.nats, err = startServer(); err != nil {
		return nil, err
	}
	var js jetstream.JetStream
	if c.nc, js, err = connect(c.nats, "figures"); err != nil {
		return nil, err
	}
	if err := c.makeStreams(ctx, js); err != nil {
		return nil, err
	}
	for i := range cfg.Servers {
		c.pools = append(c.pools, cpu.NewPool(cfg.Costs.Cores))
		h, err := c.startHost(ctx, i)
		if err != nil {
			return nil, err
		}
		c.servers = append(c.servers, h)
	}
	return c, c.SetSchedulers(cfg.NumSchedulers)
}

// Shutdown stops everything and joins every goroutine.
func (c *Cluster) Shutdown() error {
	for _, h := range c.servers {
		h.stop()
	}
	if c.nc != nil {
		c.nc.Close()
	}
	if c.nats != nil {
		c.nats.Shutdown()
		c.nats.WaitForShutdown()
	}
	for _, p := range c.pools {
		p.Stop()
	}
	return nil
}

// Servers returns the number of servers.
func (c *Cluster) Servers() int { return c.cfg.Servers }

// Running reports whether a server runs, as all do.
func (c *Cluster) Running(int) bool { return true }

// Leader returns -1: none leads.
func (c *Cluster) Leader() int { return -1 }

// SetSchedulers replaces the workers of every server.
func (c *Cluster) SetSchedulers(perServer int) error {
	for _, h := range c.servers {
		h.endWorkers()
	}
	if err := c.makeWork(c.cfg.Servers * perServer); err != nil {
		return err
	}
	for _, h := range c.servers {
		if err := h.startWorkers(perServer); err != nil {
			return err
		}
	}
	return nil
}

// RegisterJob writes a job and then an evaluation of it.
func (c *Cluster) RegisterJob(ctx context.Context, job *rpc.Job) (string, error) {
	j := job.Copy()
	j.Namespace, j.Priority = cmp.Or(j.Namespace, rpc.DefaultNamespace), cmp.Or(j.Priority, 50)
	if j.Periodic != nil || slices.ContainsFunc(j.TaskGroups, func(g rpc.TaskGroup) bool { return g.MaxParallel > 0 || g.MaxClientDisconnect > 0 }) {
		return "", fmt.Errorf("job %q is periodic, has deployments or outlives a disconnection: the servers without a leader have nobody who waits for a time", j.ID)
	}
	return c.servers[0].registerJob(ctx, j)
}

// errNotHere answers what this control plane does not have.
var errNotHere = errors.New("the servers without a leader have no such call: use a scenario in which jobs are registered and clients come and go")

func (c *Cluster) StartServer(int) error { return errNotHere }
func (c *Cluster) StopServer(int) error  { return errNotHere }
func (c *Cluster) StopJob(context.Context, string, string, bool) (string, error) {
	return "", errNotHere
}
func (c *Cluster) ScaleJob(context.Context, string, string, string, int) (string, error) {
	return "", errNotHere
}
func (c *Cluster) PauseEvalBroker(context.Context, bool) error { return errNotHere }
func (c *Cluster) EvalIDs(context.Context, string, string, int) ([]string, error) {
	return nil, errNotHere
}
func (c *Cluster) DeleteEvals(context.Context, string, string, int, []string) error {
	return errNotHere
}
func (c *Cluster) CollectGarbage(context.Context) error { return errNotHere }
func (c *Cluster) DrainNode(context.Context, string, *rpc.DrainStrategy, bool) error {
	return errNotHere
}
func (c *Cluster) SetEligibility(context.Context, string, bool) error { return errNotHere }

// NodeIDs returns the IDs of all nodes in ascending order.
func (c *Cluster) NodeIDs() []string {
	var ids []string
	for n := range c.servers[0].store.Snapshot().Nodes() {
		ids = append(ids, n.ID)
	}
	return ids
}

// Snapshots returns the state of every server.
func (c *Cluster) Snapshots() []*state.Snapshot {
	var all []*state.Snapshot
	for _, h := range c.servers {
		all = append(all, h.store.Snapshot())
	}
	return all
}

// EndWrites makes servers write nothing any more. They go on folding what was written.
func (c *Cluster) EndWrites() {
	for _, h := range c.servers {
		h.cancel()
	}
}

// Drained reports whether every server has folded all that was written.
func (c *Cluster) Drained() bool {
	ctx, cancel := context.WithTimeout(context.Background(), apiTimeout)
	defer cancel()
	in, err := c.state.Info(ctx)
	return err == nil && !slices.ContainsFunc(c.servers, func(h *host) bool { return h.store.Index() != in.State.LastSeq })
}

// NodeServer is a server as clients see it.
func (c *Cluster) NodeServer(i int) rpc.NodeServer { return c.servers[i] }

// EntriesBetween counts what was written, by kind.
func (c *Cluster) EntriesBetween(after, upTo uint64) map[string]uint64 {
	return c.journal.between(after, upTo)
}

// Conflicts returns the number of plans that were refused because another of their job came
// first.
func (c *Cluster) Conflicts() uint64 {
	c.journal.mu.Lock()
	defer c.journal.mu.Unlock()
	return c.journal.conflicts
}

// Stats returns the present figures.
func (c *Cluster) Stats() cluster.Stats {
	st := cluster.Stats{Leader: "none leads"}
	waiting, jobs := c.queue()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.journal.mu.Lock()
	st.LastIndex, st.Counters = uint64(len(c.journal.kinds)), c.journal.counters
	st.Broker.Unacked = c.journal.inHand
	c.journal.mu.Unlock()
	st.Broker.Pending = max(0, waiting-jobs)
	st.Broker.Ready = waiting - st.Broker.Pending
	st.StatePending = waiting + st.Broker.Unacked
	// An evaluation that was neither processed, nor waits, nor is in hand was dropped for a later one of its job.
	if done := st.Counters.EvalsProcessed + uint64(st.StatePending); st.Counters.EvalsCreated > done {
		c.dropped = max(c.dropped, st.Counters.EvalsCreated-done)
	}
	// The streams keep no evaluation that is over, so all of these count as collected.
	st.Counters.EvalsCanceled, st.Counters.EvalsCollected = c.dropped, c.dropped+st.Counters.EvalsProcessed
	snap := c.servers[0].store.Snapshot()
	st.NodesByStatus = snap.NodesByStatusCount()
	st.EvalsByStatus = map[string]uint64{}
	st.HeartbeatsActive = c.servers[0].beats.active()
	now, spent, cores := time.Now(), time.Duration(0), 0
	for _, p := range c.pools {
		spent += p.Busy()
		cores += p.Cores()
	}
	worked, served := c.busy.Totals(now)
	st.CPUUtilisation = c.cpu.Look(now, spent, time.Duration(cores)*now.Sub(c.started))
	st.WorkerUtilisation = c.workers.Look(now, worked, served)
	return st
}

// queue returns how many evaluations wait for a worker, and of how many jobs there are any.
func (c *Cluster) queue() (waiting, jobs int) {
	ctx, cancel := context.WithTimeout(context.Background(), apiTimeout)
	defer cancel()
	in, err := c.evals.Info(ctx)
	if err != nil {
		return 0, 0 // the server has been shut down
	}
	c.workMu.Lock()
	defer c.workMu.Unlock()
	if len(c.work) == 0 {
		return int(in.State.Msgs), int(in.State.NumSubjects)
	}
	for _, consumer := range c.work {
		about, err := consumer.Info(ctx)
		if err != nil {
			return 0, 0
		}
		waiting += int(about.NumPending)
	}
	return waiting, int(in.State.NumSubjects)
}

// apiTimeout bounds calls of JetStream's API, which take no time.
const apiTimeout = 5 * time.Second

// addr is the address of a server on the network.
func addr(i int) string { return fmt.Sprintf("server-%d", i+1) }

// perKiB is the cost of so many bytes.
func perKiB(bytes int, cost time.Duration) time.Duration {
	return time.Duration(float64(bytes) / 1024 * float64(cost))
}

// replicate charges what writing entries of so many bytes costs the server that leads a stream,
// and those that follow it, and returns when a majority would have them. JetStream's replicas
// agree by Raft, so an entry costs what one of Raft does.
func (c *Cluster) replicate(home int, key string, entries, bytes int) {
	costs := c.cfg.Costs.Raft
	c.use(home, key, time.Duration(entries)*costs.Dispatch+perKiB(bytes, costs.PerKiB))
	if c.cfg.Servers == 1 {
		time.Sleep(c.cfg.Costs.Fsync)
		return
	}
	appending := time.Duration(entries)*costs.Append + perKiB(bytes, costs.PerKiB)
	for i := range c.pools {
		if i != home {
			c.pools[i].Spend(simnet.HashStrings(uint64(c.cfg.Seed), key, addr(i)), appending)
		}
	}
	// To the quicker of the others, and back.
	time.Sleep(2*c.cfg.Costs.ServerLink.Latency + appending + c.cfg.Costs.Fsync)
}

// use charges a server's cores and waits.
func (c *Cluster) use(server int, key string, d time.Duration) {
	c.pools[server].Use(simnet.HashStrings(uint64(c.cfg.Seed), key, addr(server)), d)
}
