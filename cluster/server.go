package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/internal/cpu"
	"github.com/simctl/simctl/cluster/rpc"
	"github.com/simctl/simctl/cluster/scheduler"
	"github.com/simctl/simctl/cluster/simnet"
	"github.com/simctl/simctl/cluster/state"
	"github.com/simctl/simctl/internal/uuid"
)

// rpcHoldTimeout is how long a call waits for a leader before it fails, and
// rpcHoldPoll how often it looks (nomad/rpc.go, RPCHoldTimeout).
const (
	rpcHoldTimeout = 5 * time.Second
	rpcHoldPoll    = rpcHoldTimeout / 16
)

// errStopped means that this server is shutting down.
var errStopped = errors.New("server is stopped")

// server is one Nomad server: a Raft node with its state, its scheduler workers, and
// what it runs while it leads.
type server struct {
	cluster *Cluster
	cfg     *Config
	id      int
	life    int
	addr    string
	seed    uint64
	cpu     *cpu.Pool
	net     *simnet.Network
	host    *host
	*storage

	store       *state.Store
	cache       *scheduler.Cache
	trans       *simnet.Transport
	ties        *tieBreaker
	raft        *raft.Raft
	writer      *logWriter
	evals       *EvalService
	blocked     *blockedEvals
	plans       *planQueue
	beats       *heartbeats
	updates     *allocBatcher
	deployments *deploymentWatcher
	drains      *drainer
	periodic    *periodicDispatcher
	rejections  *rejectionTracker
	times       *timeTable

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup

	// applied is the index of the last entry that the state machine is done with.
	applied atomic.Uint64
	// joined says that Raft runs: a snapshot that is restored then comes from the leader.
	joined atomic.Bool
	// established is set while this server leads and everything the leader runs is up.
	established atomic.Bool
	// reap wakes the cancelable reaper; it never blocks an Ack.
	reap chan struct{}

	// brokerMu serialises turning broker and blocked evaluations on and off.
	brokerMu sync.Mutex
	// brokers tells those who wait of such a change.
	brokers notifier

	crashes crashes
	applier gate

	mu       sync.Mutex
	workers  []*worker
	crews    int // how often workers were replaced
	workerWG sync.WaitGroup
	sched    int // number of workers that should run
}

// newServer makes a server; start joins it to its peers. Its life counts how often it was
// started before: a process that starts anew draws anew, or IDs would come twice.
func newServer(c *Cluster, id, life int, pool *cpu.Pool, kept *storage) *server {
	return &server{
		cluster: c, cfg: &c.cfg, id: id, life: life, addr: serverAddr(id), cpu: pool, net: c.net, host: &c.hosts[id], storage: kept,
		seed: simnet.HashStrings(uint64(c.cfg.Seed), "server", serverAddr(id), strconv.Itoa(life)),
	}
}

func serverAddr(id int) string { return fmt.Sprintf("server-%d", id+1) }

// start builds what a process holds in memory and joins the Raft cluster.
func (s *server) start(peers raft.Configuration) error {
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.store = state.New()
	s.cache = scheduler.NewCache()
	s.evals = newEvalService(s)
	s.blocked = newBlockedEvals(s.evals)
	s.plans = &planQueue{}
	s.beats = newHeartbeats(s.cfg.Heartbeat, s.seed, s.invalidateHeartbeat)
	s.updates = newAllocBatcher(s)
	s.deployments = newDeploymentWatcher(s)
	s.drains = newDrainer(s)
	s.periodic = &periodicDispatcher{srv: s}
	s.times = &timeTable{granularity: s.cfg.GC.TimeGranularity}
	s.rejections = newRejectionTracker(s.cfg.PlanRejection)
	s.reap = make(chan struct{}, 1)
	s.trans = s.net.NewTransport(s.addr, s.receiveEntries)

	s.ties = newTieBreaker(s.trans, s.cluster.ledBefore)

	leading := make(chan bool, 16)
	conf := s.raftConfig(leading)
	if has, err := raft.HasExistingState(s.logs, s.stable, s.snaps); err != nil {
		return fmt.Errorf("start %s: %w", s.addr, err)
	} else if !has {
		if err := raft.BootstrapCluster(conf, s.logs, s.stable, s.snaps, s.trans, peers); err != nil {
			return fmt.Errorf("bootstrap %s: %w", s.addr, err)
		}
	}
	r, err := raft.NewRaft(conf, &fsm{s}, s.logs, s.stable, s.snaps, s.trans)
	if err != nil {
		return fmt.Errorf("start raft on %s: %w", s.addr, err)
	}
	s.raft = r
	r.RegisterObserver(raft.NewObserver(nil, false, s.ties.observe))
	s.joined.Store(true)
	s.writer = newLogWriter(r, s.fsync)
	s.trans.Listen(func(term uint64) bool { return r.State() == raft.Leader && r.CurrentTerm() == term })
	s.wg.Go(func() { s.monitorLeadership(leading) })
	s.setWorkers(s.sched)
	return nil
}

func (s *server) raftConfig(leading chan<- bool) *raft.Config {
	conf := raft.DefaultConfig()
	conf.LocalID = raft.ServerID(s.addr)
	conf.HeartbeatTimeout = s.cfg.Raft.HeartbeatTimeout
	conf.ElectionTimeout = s.cfg.Raft.ElectionTimeout
	conf.LeaderLeaseTimeout = s.cfg.Raft.LeaderLeaseTimeout
	conf.CommitTimeout = s.cfg.Raft.CommitTimeout
	conf.SnapshotThreshold = s.cfg.Raft.SnapshotThreshold
	conf.TrailingLogs = s.cfg.Raft.TrailingLogs
	conf.NoLegacyTelemetry = true
	conf.NotifyCh = leading
	conf.Logger = s.ties
	return conf
}

// lastBreath is how long Raft is left alone when its server stops: what was under way inside
// of it comes to rest, and none of it shows. Raft's goroutines would otherwise find, at
// the instant of the stop, several things to do, and choose at random (docs/adr/0600).
const lastBreath = time.Millisecond

// stop ends everything the server runs and waits for it. Its log, votes and snapshots
// stay, as on a disk, for a later start.
func (s *server) stop() error {
	s.die()
	time.Sleep(lastBreath)
	// Raft never answers those whose entries still wait for the state machine when it stops.
	for s.behind(0) {
		time.Sleep(lastBreath)
	}
	stopped := s.raft.Shutdown()
	err := s.trans.Close()
	if rerr := stopped.Error(); rerr != nil {
		err = rerr
	}
	// How often it drew from Raft's one source while it ended is the runtime's choice.
	SeedRaft(int64(s.seed))
	s.writer.wait()
	s.workerWG.Wait()
	s.wg.Wait()
	s.updates.wait()
	if cerr := s.closeFiles(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("stop %s: %w", s.addr, err)
	}
	return nil
}

// die makes the server as good as gone to everybody else, at this instant.
func (s *server) die() {
	s.established.Store(false)
	s.trans.Cut()
	s.cancel()
	s.writer.halt()
	s.evals.Close()
	s.stopWorkers()
}

// dead reports whether the process has ended: what its goroutines still come to, nobody
// gets to hear.
func (s *server) dead() bool { return s.ctx.Err() != nil }

// receiveEntries charges what storing replicated entries costs a follower.
func (s *server) receiveEntries(entries []*raft.Log) {
	s.compute("append", s.entryCost(s.cfg.Costs.Raft.Append, entries))
	time.Sleep(s.fsync())
	s.awaitApplied()
}

func (s *server) entryCost(each time.Duration, entries []*raft.Log) time.Duration {
	bytes := 0
	for _, e := range entries {
		bytes += len(e.Data)
	}
	return time.Duration(len(entries))*each + perKiB(bytes, s.cfg.Costs.Raft.PerKiB)
}

func perKiB(bytes int, cost time.Duration) time.Duration {
	return time.Duration(float64(bytes) / 1024 * float64(cost))
}

// compute charges CPU time to this server's cores and waits for it. The key tells those
// apart that may compute at one instant.
func (s *server) compute(key string, d time.Duration) {
	if d > 0 {
		s.cpu.Use(simnet.HashStrings(s.seed, key), d)
	}
}

// allocate is compute for work that leaves garbage, which is collected beside it.
func (s *server) allocate(key string, d time.Duration) {
	s.cpu.Spend(simnet.HashStrings(s.seed, key, "garbage"), time.Duration(s.cfg.Costs.Garbage*float64(d)))
	s.compute(key, d)
}

// raftEntry is a command on its way through Raft.
type raftEntry struct {
	srv    *server
	handed <-chan raft.ApplyFuture
	err    error
}

// raftApplyFuture hands a command to Raft and returns without waiting for it.
func (s *server) raftApplyFuture(t messageType, req any) raftEntry {
	data, err := encodeEntry(t, req)
	if err != nil {
		return raftEntry{err: err}
	}
	s.compute("dispatch/"+t.String(), s.cfg.Costs.Raft.Dispatch+perKiB(len(data), s.cfg.Costs.Raft.PerKiB))
	return raftEntry{srv: s, handed: s.writer.apply(data)}
}

// wait returns the index of the entry once it is committed and applied here.
func (e raftEntry) wait() (uint64, error) {
	if e.err != nil {
		return 0, e.err
	}
	f, ok := <-e.handed
	if !ok {
		return 0, errStopped
	}
	err := f.Error()
	e.srv.writer.applied()
	if e.srv.dead() {
		return 0, errStopped
	}
	if err != nil {
		if errors.Is(err, raft.ErrNotLeader) || errors.Is(err, raft.ErrLeadershipLost) {
			return 0, fmt.Errorf("%w: %w", rpc.ErrNoLeader, err)
		}
		return 0, err
	}
	if err, ok := f.Response().(error); ok {
		return 0, err
	}
	e.srv.cluster.acked.note(f.Index(), e.srv.logs.term(f.Index()))
	return f.Index(), nil
}

// raftApply writes one entry and waits until it is applied on this server.
func (s *server) raftApply(t messageType, req any) (uint64, error) {
	return s.raftApplyFuture(t, req).wait()
}

// leader waits for a server that leads and is ready to serve.
func (s *server) leader(ctx context.Context) (*server, error) {
	deadline := time.Now().Add(rpcHoldTimeout)
	for {
		if addr, _ := s.raft.LeaderWithID(); addr != "" {
			if l := s.cluster.byAddr(string(addr)); l != nil && l.established.Load() {
				return l, nil
			}
		}
		if time.Now().After(deadline) {
			return nil, rpc.ErrNoLeader
		}
		select {
		case <-time.After(rpcHoldPoll + time.Duration(s.id+1)*time.Microsecond):
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-s.ctx.Done():
			return nil, errStopped
		}
	}
}

// forward runs fn on the leader: here, when this server leads, or over the network. It
// charges the call to both servers.
func forward[T any](ctx context.Context, s *server, method string, fn func(leader *server) (T, error)) (T, error) {
	var zero T
	l, err := s.leader(ctx)
	if err != nil {
		return zero, err
	}
	if l == s {
		return fn(l)
	}
	s.compute("send/"+method, s.cfg.Costs.RPC.Send)
	if err := s.net.Send(ctx, s.addr, l.addr, method); err != nil {
		return zero, unreachable(err)
	}
	if l.dead() {
		return zero, rpc.ErrUnreachable
	}
	l.compute(s.addr+method, s.cfg.Costs.RPC.Serve)
	out, err := fn(l)
	if l.dead() {
		out, err = zero, rpc.ErrUnreachable
	}
	if serr := s.net.Send(ctx, l.addr, s.addr, method); serr != nil {
		return zero, unreachable(serr)
	}
	return out, err
}

// uuid returns an ID that depends on what it is for and when, not on the order in
// which concurrent calls ask.
func (s *server) uuid(parts ...string) string {
	now := uint64(time.Now().UnixNano())
	return uuid.Format(simnet.HashStrings(s.seed^now, parts...), simnet.HashStrings(^s.seed^now, parts...))
}

// newEvalService returns the broker this server runs when it leads.
func newEvalService(s *server) *EvalService {
	return NewEvalService(broker.Config{
		Policy:              s.cfg.Policy,
		NackTimeout:         s.cfg.Eval.NackTimeout,
		InitialNackDelay:    s.cfg.Eval.InitialNackDelay,
		SubsequentNackDelay: s.cfg.Eval.SubsequentNackDelay,
		DeliveryLimit:       s.cfg.Eval.DeliveryLimit,
		Rand:                rand.New(rand.NewPCG(s.seed, simnet.HashStrings(s.seed, "broker"))),
	})
}
