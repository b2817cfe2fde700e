package run

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/internal/rusage"
	"github.com/simctl/simctl/metrics"
	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/behaviours"
	"github.com/simctl/simctl/scenarios/internal/bubble"
	"github.com/simctl/simctl/scenarios/internal/judge"
	"github.com/simctl/simctl/scenarios/internal/scale"
)

// Run runs a Scenario in this process and returns its Result; tell may be nil, and must be
// quick. What the process must be like, and what the error says, is in scenarios.RunOne.
func Run(ctx context.Context, sc *Scenario, tell func(Progress)) (*metrics.Result, error) {
	if err := sc.validate(); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", sc.Run.Scenario, err)
	}
	// This is what makes the first leader, and so the run, repeatable.
	cluster.SeedRaft(sc.Run.Seed)

	wall, cpu := time.Now(), rusage.CPU()
	var res *metrics.Result
	var err error
	body := func(ctx context.Context, w world) (err error) {
		r := &run{sc: sc.Scaled(), ctx: ctx, world: w, teller: teller{tell: tell}}
		res, err = r.simulated()
		return err
	}
	if sc.wall() {
		err = body(ctx, wallWorld{time.Now()})
	} else {
		err = bubble.Run(ctx, 0, func(ctx context.Context, w *bubble.World) error { return body(ctx, w) })
	}
	return sc.outcome(ctx, res, err, wall, cpu)
}

// On runs a Scenario in a real cluster, on the wall clock, and returns its Result. The cluster is
// there before and after. Two runs must not go on in a cluster at a time.
func On(ctx context.Context, sc *Scenario, real System, tell func(Progress)) (*metrics.Result, error) {
	if err := sc.validate(); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", sc.Run.Scenario, err)
	}
	wall, cpu := time.Now(), rusage.CPU()
	r := &run{sc: sc.Scaled(), ctx: ctx, world: wallWorld{wall}, teller: teller{tell: tell}, system: real}
	res, err := r.all()
	return sc.outcome(ctx, res, err, wall, cpu)
}

// Beside runs a Scenario on virtual time in a system of another design, which start starts in the
// bubble, and returns its Result. The process must be like Run's.
func Beside(ctx context.Context, sc *Scenario, start func(context.Context, cluster.Config) (Other, error), tell func(Progress)) (*metrics.Result, error) {
	if err := sc.validate(); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", sc.Run.Scenario, err)
	}
	wall, cpu := time.Now(), rusage.CPU()
	var res *metrics.Result
	err := bubble.Run(ctx, 0, func(ctx context.Context, w *bubble.World) (err error) {
		r := &run{sc: sc.Scaled(), ctx: ctx, world: w, teller: teller{tell: tell}, obs: judge.NewObserver(w.Alive, 0)}
		cfg := r.sc.Cluster
		cfg.Observer = r.obs
		if r.other, err = start(ctx, cfg); err != nil {
			return fmt.Errorf("start the servers: %w", err)
		}
		r.system = r.other
		defer func() { err = errors.Join(err, r.other.Shutdown()) }()
		res, err = r.all()
		return err
	})
	return sc.outcome(ctx, res, err, wall, cpu)
}

// outcome returns the Result and the error of a run that has ended, with what they say of it
// as a whole.
func (s *Scenario) outcome(ctx context.Context, res *metrics.Result, err error, wall time.Time, cpu time.Duration) (*metrics.Result, error) {
	if ctx.Err() != nil {
		res, err = nil, context.Cause(ctx)
	}
	if res != nil {
		res.Host = metrics.Host{Started: wall.UTC().Truncate(time.Second), WallS: time.Since(wall).Seconds(), CPUS: (rusage.CPU() - cpu).Seconds(), PeakRSSBytes: rusage.PeakRSS()}
	}
	if err != nil {
		return res, fmt.Errorf("scenario %s with the %s broker: %w", s.Run.Scenario, s.Run.Broker, err)
	}
	return res, nil
}

// run is a Scenario under way. All of it but the observer belongs to one goroutine, and the
// stage to that of the events while a phase goes on.
type run struct {
	sc     *Scenario
	ctx    context.Context
	world  world
	teller teller

	start  time.Time
	rec    *metrics.Recorder
	system System
	stage  actions.Stage
	// The cluster can be looked into, and its broker is observed, if it is simulated. Both are nil
	// if it is not. Servers of another design can be looked into, too.
	sim   *Simulated
	other Other
	obs   *judge.Observer
	// thorough is nil unless the run is looked at closely.
	thorough *thorough
	// asking is the mark of the request that an event has made and that has no answer yet.
	asking atomic.Pointer[string]
	// breakOff ends what the stage has under way, in a run that is stopped.
	breakOff context.CancelFunc

	// entries counts the log entries by type up to index, for the series.
	entries map[string]uint64
	index   uint64
	// counted is what the phase before had counted when it ended.
	counted cluster.Stats
	// completed counts the evaluations that were completed, for the series.
	completed float64

	checks []metrics.Invariant
	left   metrics.Invariant // whether evaluations were left when writing ended
	losses *judge.Losses     // of the present phase

	deployments judge.Deployments
	warnings    []string

	stopped string // by this limit; empty: by none
}

// scaled converts a duration of this package to the run's clock.
func (r *run) scaled(d time.Duration) time.Duration { return scale.Durations(d, r.sc.factor()) }

// sampleOffset moves the samples, and with them the starts of phases, off the round instants
// at which timers fire.
const sampleOffset = 3_141_593 * time.Nanosecond

// sampleShift moves the samples of a phase off its events, which come after whole seconds.
const sampleShift = 271_829 * time.Nanosecond

// simulated runs the scenario on a cluster in this process.
func (r *run) simulated() (res *metrics.Result, err error) {
	slack := time.Duration(0)
	if r.sc.wall() {
		slack = 100 * time.Millisecond
	}
	r.obs = judge.NewObserver(r.world.Alive, slack)
	cfg := r.sc.Cluster
	cfg.Observer = r.obs
	if r.sc.Thorough {
		r.thorough = &thorough{trail: judge.NewTrail(cfg.Servers, r.obs)}
		cfg.Observer, cfg.Follow, cfg.CarriedOut = r.thorough.trail, r.thorough.trail.Applied, r.thorough.calls.See
	}
	if r.sc.LogsOnDisk {
		if cfg.DataDir, err = os.MkdirTemp("", "simctl-raft-*"); err != nil {
			return nil, elsewhere(fmt.Errorf("make a directory for the Raft logs: %w", err))
		}
		defer func() { err = errors.Join(err, os.RemoveAll(cfg.DataDir)) }()
	}
	c, err := cluster.Start(r.ctx, cfg)
	if err != nil {
		err = fmt.Errorf("start the cluster: %w", err)
		if _, files := errors.AsType[*fs.PathError](err); files && r.sc.LogsOnDisk {
			err = elsewhere(err)
		}
		return nil, err
	}
	r.sim = &Simulated{Cluster: c}
	r.system = r.sim
	defer func() { err = errors.Join(err, r.sim.Shutdown()) }()
	return r.all()
}

// elsewhere adds to an error about Raft logs on disk where else users can have them.
func elsewhere(err error) error {
	return fmt.Errorf("%w: make room in %s, choose another directory by TMPDIR, or keep the logs in memory", err, os.TempDir())
}

// all starts the fleet, goes through the phases, checks and takes the fleet down.
func (r *run) all() (*metrics.Result, error) {
	clients := r.sc.Fleet
	clients.Servers, clients.Dial = r.system.Servers(), r.system.NodeServer
	fleet, err := nodesim.NewFleet(clients)
	if err != nil {
		return nil, err
	}
	defer fleet.Shutdown()
	ctx, breakOff := context.WithCancel(r.ctx)
	defer breakOff()
	r.breakOff = breakOff
	r.stage = actions.Stage{
		Ctx: ctx, Cluster: r.system, Fleet: fleet, Groups: behaviours.Groups(r.sc.Fleet), Seed: r.sc.Run.Seed,
		Note: func(mark string) {
			r.rec.Mark(time.Now(), mark)
			r.teller.mark(mark)
		},
	}
	if r.sim != nil {
		r.stage.Simulated = r.sim.Cluster
		r.sim.SetClients(fleet)
	}
	defer r.stage.EndBehaviours()
	if r.thorough != nil {
		r.thorough.sim = r.sim
		r.thorough.begin(ctx)
		defer r.thorough.end()
	}

	r.startRecording()
	for i := range r.sc.Phases {
		if err = r.phase(i); err != nil {
			break
		}
	}
	if r.ctx.Err() != nil {
		return nil, r.ctx.Err()
	}
	r.stage.EndBehaviours()
	if err == nil {
		err = r.healAtEnd()
	}
	if err == nil {
		if r.sim != nil {
			r.warnings = judge.Unfinished(r.sim.latest())
		}
		r.rest()
	}
	fleet.Shutdown()
	if err == nil {
		r.checkEnd()
	}
	if errors.Is(err, errStopped) {
		err = nil // a run that was stopped has a Result and no error
	}
	res, rerr := r.result()
	return res, errors.Join(err, rerr)
}

// startRecording begins the record, which counts nothing of what was before.
func (r *run) startRecording() {
	time.Sleep(sampleOffset)
	r.start = time.Now()
	r.rec = metrics.NewRecorder(r.start)
	if r.obs != nil {
		r.obs.Record(r.rec)
	}
	r.index, r.entries = r.system.Stats().LastIndex, map[string]uint64{}
}

func (r *run) result() (*metrics.Result, error) {
	label := r.sc.Run
	label.Version, label.GoVersion = metrics.Version(), runtime.Version()
	if r.sim != nil || r.other != nil {
		label.Target = "simulated"
	}
	res, err := r.rec.Result(label, r.checks, metrics.Host{})
	if res != nil {
		res.Stopped, res.Warnings = r.stopped, slices.Concat(r.sc.Warnings, r.warnings, disturbed(res))
	}
	return res, err
}
