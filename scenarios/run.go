package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/internal/bubble"
)

// RunOne runs a Spec in this process and returns its Result; tell, which may be nil, is
// called with the progress now and then and must be quick. A run repeats exactly only if
// the process has GOMAXPROCS 1 and was built or started with GODEBUG randseednop=0: use
// RunAll for that. Two runs must not go on in one process at a time, since Raft draws from
// a source they share.
//
// The error is an *InputError if the Spec cannot be run, and ctx's if that ended the run.
// A phase that never ended is an error, too, but comes with the Result of what was: so
// check both. Failed invariants are no error; see Result.Invariants.
func RunOne(ctx context.Context, spec Spec, tell func(Progress)) (*metrics.Result, error) {
	sc, err := spec.scenario()
	if err != nil {
		return nil, err
	}
	return runScenario(ctx, spec, sc, tell)
}

func runScenario(ctx context.Context, spec Spec, sc *Scenario, tell func(Progress)) (*metrics.Result, error) {
	if err := sc.validate(); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", spec.Scenario, err)
	}
	// This is what makes the first leader, and so the run, repeatable.
	cluster.SeedRaft(spec.Seed)

	began := startHost()
	var res *metrics.Result
	var err error
	body := func(ctx context.Context, w world) (err error) {
		r := &run{spec: spec, sc: sc, ctx: ctx, world: w, teller: teller{tell: tell}}
		res, err = r.all()
		return err
	}
	if spec.Clock == ClockWall {
		err = body(ctx, wallWorld{time.Now()})
	} else {
		err = bubble.Run(ctx, 0, func(ctx context.Context, w *bubble.World) error { return body(ctx, w) })
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("scenario %s with the %s broker: %w", spec.Scenario, spec.Broker, context.Cause(ctx))
	}
	if res != nil {
		res.Host = began.host()
	}
	if err != nil {
		return res, fmt.Errorf("scenario %s with the %s broker: %w", spec.Scenario, spec.Broker, err)
	}
	return res, nil
}

// run is a Scenario under way. All of it but the observer belongs to one goroutine.
type run struct {
	spec   Spec
	sc     *Scenario
	ctx    context.Context
	world  world
	teller teller

	start   time.Time
	rec     *metrics.Recorder
	obs     *observer
	cluster *cluster.Cluster
	fleet   *nodesim.Fleet

	// entries counts the log entries by type up to index, for the series.
	entries map[string]uint64
	index   uint64
	checks  []metrics.Invariant
	losses  *losses // of the present phase

	// faults are those under way; healing is set while all of them end. Both belong to the
	// goroutine of the events and, between phases, to that of the run.
	faults  []underway
	healing bool
	// reloaded is closed when the last change of num_schedulers is through; nil: none began.
	reloaded chan struct{}
	// behaving is what clients do by themselves, by name; it belongs to those, too.
	behaving map[string]*behaving
}

// sampleOffset puts the samples, and with them the starts of phases, off the round
// instants that timers fall on.
const sampleOffset = 3_141_593 * time.Nanosecond

// sampleShift puts a phase's samples off its events, which come after whole seconds.
const sampleShift = 271_829 * time.Nanosecond

// all starts everything, goes through the phases, checks and takes everything down.
func (r *run) all() (res *metrics.Result, err error) {
	slack := time.Duration(0)
	if r.spec.Clock == ClockWall {
		slack = 100 * time.Millisecond
	}
	r.obs = newObserver(r.world.Alive, slack)
	cfg := r.sc.Cluster
	cfg.Observer = r.obs
	if r.spec.RaftStore == RaftStoreBoltDB {
		if cfg.DataDir, err = os.MkdirTemp("", "simctl-raft-*"); err != nil {
			return nil, fmt.Errorf("make a directory for the Raft logs: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(cfg.DataDir)) }()
	}
	r.cluster, err = cluster.Start(r.ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("start the cluster: %w", err)
	}
	defer func() {
		err = errors.Join(err, r.cluster.Shutdown())
		if r.reloaded != nil {
			<-r.reloaded
		}
	}()
	if err := r.makeFleet(); err != nil {
		return nil, err
	}
	defer r.fleet.Shutdown()
	defer r.endBehaviours()

	time.Sleep(sampleOffset)
	r.start = time.Now()
	r.rec = metrics.NewRecorder(r.start)
	r.obs.record(r.rec)
	r.index, r.entries = r.cluster.Stats().LastIndex, map[string]uint64{}
	for i := range r.sc.Phases {
		if err = r.phase(i); err != nil {
			break
		}
	}
	if r.ctx.Err() != nil {
		return nil, r.ctx.Err()
	}
	r.endBehaviours()
	if err == nil {
		err = r.healAtEnd()
	}
	if err == nil {
		r.rest()
	}
	r.fleet.Shutdown()
	if err == nil {
		r.checkEnd()
	}
	res, rerr := r.result()
	return res, errors.Join(err, rerr)
}

func (r *run) makeFleet() (err error) {
	cfg := r.sc.Fleet
	cfg.Servers, cfg.Dial = r.cluster.Servers(), r.cluster.NodeServer
	r.fleet, err = nodesim.NewFleet(cfg)
	return err
}

func (r *run) result() (*metrics.Result, error) {
	params := params(r.sc.vars)
	if r.spec.TimeScale != 0 {
		params["time_scale"] = r.spec.TimeScale
	}
	if r.spec.RaftStore == RaftStoreBoltDB {
		params["raft_store"] = r.spec.RaftStore
	}
	params["report_allocations"] = r.sc.Fleet.ReportAllocs
	params["cost"] = r.sc.cost.Class
	r.sc.profiles.params(r.spec.Broker, params)
	clock := r.spec.Clock
	if clock == "" {
		clock = ClockVirtual
	}
	return r.rec.Result(metrics.Run{
		Scenario:  r.spec.Scenario,
		Broker:    r.spec.Broker,
		Seed:      r.spec.Seed,
		Clock:     clock,
		Target:    "simulated",
		Params:    params,
		Version:   version(),
		GoVersion: runtime.Version(),
		Rerun:     r.spec.CommandLine(),
		CostModel: r.sc.cost.model(),
	}, r.checks, metrics.Host{})
}

// version names the commit the Go tool stamped into the binary.
func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(unknown)"
}
