package server

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/internal/cpu"
	"github.com/simctl/simctl/cluster/internal/fsm"
	"github.com/simctl/simctl/cluster/internal/identity"
	"github.com/simctl/simctl/cluster/internal/leader"
	"github.com/simctl/simctl/cluster/internal/raftnode"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/scheduler"
	"github.com/simctl/simctl/cluster/simnet"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/uuid"
)

// ErrStopped means that the server is shutting down.
var ErrStopped = errors.New("server is stopped")

// Shared is what the servers of a cluster have in common. It is safe for concurrent use
// once the fields are set.
type Shared struct {
	Config  *config.Config
	Network *simnet.Network
	// ByAddr returns the server of an address; nil if that does not run.
	ByAddr func(addr string) *Server
	// Ledger counts what happens, Acked remembers the writes that callers were told of, and
	// Workers adds up how long workers had something to do, whichever server it was.
	Ledger  fsm.Ledger
	Acked   raftnode.Acked
	Workers cpu.Workload
	// Results lets servers adopt what the first of them made of an entry.
	Results fsm.Results
	// Held says that nodes which fall silent stay as they are, and Ended that nothing is written any more.
	Held   atomic.Bool
	Ended  atomic.Bool
	Poison Poison
	// Overlooked are allocations that appliers did not know of, whichever server led.
	Overlooked Overlooked
	// Unevaluated are nodes whose last change may lack evaluations, whichever server led.
	Unevaluated Unevaluated

	calls atomic.Uint64 // that were made; see config.Config, CarriedOut
	// Fleet is what clients' own work is charged to; nil: the servers that they call.
	Fleet cpu.Cores
	// Clients are where servers reach clients; nil: nowhere.
	Clients atomic.Pointer[rpc.Clients]
	// Identities are those of the clients.
	Identities identity.Identities
}

// Server is one process of a server. Its methods are safe for concurrent use.
type Server struct {
	*raftnode.Node
	shared *Shared
	cfg    *config.Config
	// ofClients are the costs of clients' calls.
	ofClients config.RPCCosts
	addr      string
	opts      Options
	seed      uint64

	store       *state.Store
	cache       *scheduler.Cache
	times       *fsm.TimeTable
	evals       *leader.Evaluations
	plans       *leader.PlanQueue
	beats       *leader.Heartbeats
	deployments *leader.Deployments
	drains      *leader.Drainer
	periodic    *leader.Periodic
	rejections  *leader.Rejections
	updates     *leader.Batcher[fsm.AllocClientUpdateRequest]
	evalUpdates *leader.Batcher[fsm.EvalUpdateRequest] // see config.DesignConfig
	downs       *leader.Batcher[fsm.NodesDownRequest]  // likewise

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	// established is set while this server leads and everything the leader runs is up.
	established atomic.Bool
	// gauges are the broker's as they were last set; nil while nobody watches the leader.
	gauges atomic.Pointer[broker.Stats]
	// nodesChanged wakes watchNodes.
	nodesChanged    chan struct{}
	deploymentWatch *deploymentWatch
	counted         lately // the nodes

	// stuck holds up the plan applier, and unstuck tells it of changes of that.
	stuck   atomic.Bool
	unstuck leader.Notifier

	mu       sync.Mutex
	workers  []*worker
	crews    int // how often workers were replaced
	sched    int // number of workers that should run
	crashes  int // evaluations that workers are to lose
	workerWG sync.WaitGroup
}

// Options tells one server from the others of its cluster.
type Options struct {
	ID int // counted from 0
	// Schedulers is the number of workers.
	Schedulers int
	CPU        cpu.Cores
	Host       *Host
	Storage    *raftnode.Storage
}

// Host is what a server runs on, and keeps when it restarts. The zero value is as fast as
// the cost model says.
type Host struct {
	Disk, Apply atomic.Int64 // how much longer a write to the disk, and applying an entry, take
	Full        atomic.Int64 // faults that fill the disk
	Ahead       atomic.Int64 // how far the wall clock is ahead of the true time, a duration
}

// Addr returns the address of a server, counted from 0.
func Addr(id int) string { return fmt.Sprintf("server-%d", id+1) }

// New returns a server that nobody can reach before Start.
func New(shared *Shared, o Options) *Server {
	addr := Addr(o.ID)
	return &Server{
		shared: shared, cfg: shared.Config, ofClients: shared.Config.Costs.RPC.OfClients(), addr: addr, opts: o, sched: o.Schedulers, nodesChanged: make(chan struct{}, 1), deploymentWatch: newDeploymentWatch(),
		// A process that starts anew draws anew, or IDs would come twice.
		seed: simnet.HashStrings(uint64(shared.Config.Seed), "server", addr, strconv.Itoa(o.Storage.Life)),
	}
}

// Next returns the server's next process, which starts from what this one left on its disk.
func (s *Server) Next() (*Server, error) {
	kept, err := s.opts.Storage.Reopen()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", s.addr, err)
	}
	o := s.opts
	o.Storage = kept
	s.mu.Lock()
	o.Schedulers = s.sched
	s.mu.Unlock()
	return New(s.shared, o), nil
}

// Start builds what a process holds in memory and joins the Raft cluster.
func (s *Server) Start() error {
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.store = state.New()
	s.store.WakeAtIndex = s.cfg.Design.WakeAtIndex
	s.store.ReturnEndsWaits, s.store.KeepsReports, s.store.SkipsStopped = s.cfg.Habits.ReturnEndsWaits, s.cfg.Habits.KeepsReports, s.cfg.Habits.SkipsStopped
	if s.cfg.Follow != nil {
		s.store.RecordChanges()
	}
	s.store.Ladder = s.cfg.Habits.Ladder
	s.cache = scheduler.NewCache()
	s.times = fsm.NewTimeTable(s.ageGranularity())
	s.evals = leader.NewEvaluations(s, s.cfg, s.seed)
	s.plans = &leader.PlanQueue{}
	s.beats = leader.NewHeartbeats(s.cfg.Heartbeat, s.seed, s.invalidateHeartbeat)
	s.deployments = leader.NewDeployments(s)
	s.drains = leader.NewDrainer(s, s.cfg.Habits)
	s.periodic = leader.NewPeriodic(s, s.cfg.Habits)
	s.rejections = leader.NewRejections(s.cfg.PlanRejection)
	s.updates = leader.NewBatcher(s.cfg.BatchUpdateInterval, mergeUpdates, s.writeUpdates)
	s.evalUpdates = leader.NewBatcher(s.cfg.Design.UpdateWindow, mergeEvals, s.writeGathered)
	s.downs = leader.NewBatcher(s.cfg.Design.DownWindow, mergeDowns, s.writeDowns)
	var peers []string
	for id := range s.cfg.Servers {
		peers = append(peers, Addr(id))
	}
	s.opts.Storage.Logs.CountFree = s.cfg.Costs.Raft.PerFreeKiB > 0
	transport := s.shared.Network.NewTransport(s.addr, s.receiveEntries)
	transport.MaxRPCsInFlight, transport.NoPreVotes = s.cfg.Habits.MaxRPCsInFlight, !s.cfg.Habits.PreVotes
	transport.HeartbeatTimeout = s.cfg.Raft.HeartbeatTimeout
	if r := s.cfg.Costs.Raft; r.Receive > 0 || r.Serial {
		transport.Answered = s.answered
	}
	s.Node = raftnode.New(raftnode.Options{
		Addr: s.addr, Peers: peers, Config: s.cfg.Raft, Seed: int64(s.seed), Storage: s.opts.Storage,
		Transport: transport, Write: s.writeEntries,
		Full: func() bool { return s.opts.Host.Full.Load() > 0 },
	})
	if err := s.Node.Start(&machine{s}); err != nil {
		return err
	}
	s.wg.Go(s.monitorLeadership)
	if s.cfg.Costs.Idle > 0 {
		s.wg.Go(s.idle)
	}
	s.SetSchedulers(s.sched)
	return nil
}

// ageGranularity returns how exactly the age of an entry is known. Releases that compare the
// times of the rows themselves know it exactly, which is to the second here.
func (s *Server) ageGranularity() time.Duration {
	if s.cfg.Habits.ExactAges {
		return min(s.cfg.GC.TimeGranularity, time.Second)
	}
	return s.cfg.GC.TimeGranularity
}

// Stop ends everything the server runs and waits for it. Its log, votes and snapshots stay,
// as on a disk, for its next process.
func (s *Server) Stop() error {
	s.die()
	err := s.Node.Stop()
	s.stopWorkers() // no others come after this
	s.workerWG.Wait()
	s.wg.Wait()
	s.updates.Wait()
	s.evalUpdates.Wait()
	s.downs.Wait()
	if err := errors.Join(err, s.Close()); err != nil {
		return fmt.Errorf("stop %s: %w", s.addr, err)
	}
	return nil
}

// Close closes the files of a server that has stopped, or never started.
func (s *Server) Close() error { return s.opts.Storage.Close() }

// die cuts the server off from everybody else at this instant.
func (s *Server) die() {
	s.established.Store(false)
	s.Transport.Cut()
	s.cancel()
	s.store.EndWatches()
	s.Halt()
	s.evals.Broker.Close()
}

// dead reports whether the process has ended. Its goroutines may still run, unheard.
func (s *Server) dead() bool { return s.ctx.Err() != nil }

// Done is closed when the process ends.
func (s *Server) Done() <-chan struct{} { return s.ctx.Done() }

// ID returns the server's number, counted from 0.
func (s *Server) ID() int { return s.opts.ID }

// Addr returns the server's address on the network.
func (s *Server) Addr() string { return s.addr }

// Established reports whether the server leads and everything that a leader runs is up.
func (s *Server) Established() bool { return s.established.Load() }

// Store returns the server's state. It belongs to the server: read it only.
func (s *Server) Store() *state.Store { return s.store }

// Snapshot returns the server's state.
func (s *Server) Snapshot() *state.Snapshot { return s.store.Snapshot() }

// Because counts events that should cost entries of the log.
func (s *Server) Because(causes ...fsm.Cause) { s.shared.Ledger.Because(causes...) }

// BrokerStats counts the evaluations that the leader's broker holds. With config.MonitoringCosts it counts those that
// the broker held when its gauges were last set.
func (s *Server) BrokerStats() broker.Stats {
	if told := s.gauges.Load(); told != nil {
		return *told
	}
	return s.evals.Broker.Stats()
}

// Queues returns how many nodes the leader expects to hear from, how many plans wait for its
// applier, and how many jobs wait for room.
func (s *Server) Queues() (heartbeats, plans, blocked int) {
	return s.beats.Active(), s.plans.Depth(), s.evals.Blocked.Size()
}

// Blocked returns the table of who waits for room.
func (s *Server) Blocked() *leader.BlockedEvals { return s.evals.Blocked }

// ForceGC has the leader's workers collect everything that is over.
func (s *Server) ForceGC() { s.evals.EnqueueCore(coreForceGC) }

// fsync is how long the disk takes to sync what was written to it.
func (s *Server) fsync() time.Duration {
	return s.cfg.Costs.Fsync + time.Duration(s.opts.Host.Disk.Load())
}

// applyPoll is how often a follower that has too much to apply looks whether it still has.
const applyPoll = time.Millisecond

// awaitApplied blocks entries that arrive while the state machine is far behind what is
// committed: Raft's main goroutine would block on it instead. What is committed is applied
// without further messages, so it cannot block forever.
func (s *Server) awaitApplied() {
	for !s.dead() && s.Overloaded() {
		leader.Sleep(s.ctx, applyPoll+time.Duration(s.opts.ID+1)*time.Microsecond)
	}
}

func perKiB(bytes int, cost time.Duration) time.Duration {
	return time.Duration(float64(bytes) / 1024 * float64(cost))
}

// Compute charges CPU time to this server's cores and waits for it. It is for a goroutine that has a processor, or gets it
// from the one that woke it and now stops. Callers at one instant must have different keys.
func (s *Server) Compute(key string, d time.Duration) {
	s.charge(key, cpu.Work{Takes: d, Turn: cpu.Next, Left: s.others(key, d)})
}

// inTurn is Compute for a goroutine that was woken together with others, and queues behind those that are ready.
func (s *Server) inTurn(key string, d time.Duration) {
	s.charge(key, cpu.Work{Takes: d, Left: s.others(key, d)})
}

// receive is Compute for a goroutine that the network wakes with a message that comes after a while. Over is the connection
// if messages of others come over it, too; zero if not.
func (s *Server) receive(key string, over uint64, after, d time.Duration) {
	s.charge(key, cpu.Work{Before: after, Takes: d, Turn: cpu.FromNetwork, Over: over, Left: s.others(key, d)})
}

// allocate is Compute for work that leaves garbage at a rate of its own, in KiB a microsecond; zero means CollectionCosts.Garbage.
func (s *Server) allocate(key string, d time.Duration, leaves float64) {
	s.charge(key, cpu.Work{Takes: d, Turn: cpu.Next, Left: s.garbage(key, d, leaves)})
}

// others returns the garbage of work that config.CollectionCosts.Others is for.
func (s *Server) others(key string, d time.Duration) cpu.Garbage {
	leaves := s.cfg.Costs.Collection.Others
	if leaves == 0 {
		return cpu.Garbage{}
	}
	return s.garbage(key, d, leaves)
}

// garbage returns what work of that length leaves, at a rate in KiB a microsecond; zero means CollectionCosts.Garbage.
func (s *Server) garbage(key string, d time.Duration, leaves float64) cpu.Garbage {
	if d <= 0 {
		return cpu.Garbage{}
	}
	costs, rows := &s.cfg.Costs, 0
	left := cpu.Garbage{Key: simnet.HashStrings(s.seed, key, "garbage")}
	if c := costs.Collection; c != (config.CollectionCosts{}) {
		rows = s.Snapshot().Rows()
		left.Heap = c.Mark(rows)
	}
	left.Cost = costs.Collecting(d, leaves, rows)
	return left
}

// charge has work done under a key.
func (s *Server) charge(key string, w cpu.Work) {
	if w.Before <= 0 && w.Takes <= 0 && w.Waits == 0 {
		return
	}
	w.Key = simnet.HashStrings(s.seed, key)
	s.opts.CPU.Do(w)
}

// idleEvery is how often what a server spends without anything to do is charged.
const idleEvery = 100 * time.Millisecond

// idle spends what a server does without anything to do.
func (s *Server) idle() {
	share := time.Duration(idleEvery.Seconds() * float64(s.cfg.Costs.Idle))
	leader.Every(s.ctx, idleEvery, func() { s.opts.CPU.Spend(simnet.HashStrings(s.seed, "idle"), share) })
}

// NewID returns a UUID that depends on what it is for and when, not on the order in which
// concurrent calls ask.
func (s *Server) NewID(parts ...string) string {
	now := uint64(time.Now().UnixNano())
	return uuid.Format(simnet.HashStrings(s.seed^now, parts...), simnet.HashStrings(^s.seed^now, parts...))
}

// Wall returns what the wall clock of the server's machine says. Timers do not ask it.
func (s *Server) Wall() time.Time { return time.Now().Add(time.Duration(s.opts.Host.Ahead.Load())) }

var _ leader.Log = (*Server)(nil)
