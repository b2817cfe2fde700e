package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/httpapi"
	"github.com/simctl/simctl/cluster/telemetry"
	"github.com/simctl/simctl/internal/nomadtls"
	"github.com/simctl/simctl/nodesim"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/internal/actions"
	"github.com/simctl/simctl/scenarios/internal/behaviours"
	"github.com/simctl/simctl/scenarios/internal/run"
	"github.com/simctl/simctl/scenarios/internal/scale"
)

// Options says what is served, and where.
type Options struct {
	Servers    int
	Schedulers int // workers of each server
	Broker     string
	Seed       int64
	// Nodes is the size of the fleet in this process; zero = none.
	Nodes int
	// TimeScale multiplies every duration of the cluster and its fleet; zero means 1.
	TimeScale float64

	// DataDir is where the servers keep their Raft logs, votes and snapshots. If those of an
	// earlier process are there, the cluster goes on from them. Empty = in memory.
	DataDir string
	// Build is the version of this program, for those who read a data directory later.
	Build string

	// RPCAddr is where clients of other processes reach the first server; the next ones have
	// the next ports. Empty = nowhere. It must be on loopback: RPC knows no tokens.
	RPCAddr  string
	HTTPAddr string
	Access
	// TLS has the files of the servers, for both kinds of listeners; clients of RPC must have a certificate of the same
	// authority. The zero value is no TLS.
	TLS nomadtls.Files

	// Page is what a browser gets at the root: it reads the samples at SamplesPath. Empty =
	// none.
	Page []byte

	Log *slog.Logger
}

// Check says what is wrong with the options, naming the flag of the command.
func (o *Options) Check() error {
	switch {
	case o.Servers < 1 || o.Servers > 15:
		return fmt.Errorf("--servers %d: there must be 1 to 15", o.Servers)
	case o.Schedulers < 0 || o.Schedulers > 1024:
		return fmt.Errorf("--schedulers %d: there must be 0 to 1024", o.Schedulers)
	case o.Nodes < 0 || o.Nodes > nodesim.MaxNodes:
		return fmt.Errorf("--nodes %d: there must be 0 to %d", o.Nodes, nodesim.MaxNodes)
	case !(o.TimeScale > 0 && o.TimeScale <= 100):
		return fmt.Errorf("--time-scale %v: it must be above 0 and at most 100", o.TimeScale)
	}
	if _, _, err := scenarios.ServersUnder(o.Broker); err != nil {
		return fmt.Errorf("--broker %q: %w", o.Broker, err)
	}
	if _, _, err := o.secure(); err != nil {
		return fmt.Errorf("--tls-ca, --tls-cert, --tls-key: %w", err)
	}
	if o.RPCAddr != "" {
		if err := checkAddr("rpc-addr", o.RPCAddr, o.Servers, false); err != nil {
			return err
		}
	}
	return o.Access.check("http-addr", o.HTTPAddr)
}

// Run serves until ctx is done, and returns when everything has ended. It calls ready when the
// cluster has a leader and the listeners listen. The error is nil if only ctx ended it.
func Run(ctx context.Context, o Options, ready func(Where)) (err error) {
	if err := o.Check(); err != nil {
		return err
	}
	at, err := o.open()
	if err != nil {
		return err
	}
	defer at.close()
	if o.DataDir != "" {
		lock, err := o.takeDataDir()
		if err != nil {
			return err
		}
		defer lock.Close()
	}
	figures, err := telemetry.New()
	if err != nil {
		return err
	}
	events := &httpapi.Events{}
	cfg, release, err := o.cluster(figures, events)
	if err != nil {
		return err
	}
	simulated, err := cluster.Start(ctx, cfg)
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return o.noRoom(fmt.Errorf("start the cluster: %w", err))
	}
	c := &run.Simulated{Cluster: simulated}
	defer func() { err = errors.Join(err, c.Shutdown()) }()
	reader := scenarios.NewEventReader(o.Servers, o.Nodes)
	fleet, err := o.fleet(simulated, reader.Fleet())
	if err != nil {
		return err
	}
	if fleet != nil {
		simulated.SetClients(fleet)
		fleet.Start(ctx)
		defer fleet.Shutdown()
	}
	where := at.where(&o)
	handler := httpapi.New(httpapi.Options{
		Cluster: simulated, Version: release, Token: o.Token, Metrics: figures, Events: events, RPC: where.rpc,
	})
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	wg.Go(func() { figures.Run(ctx, simulated) })
	live := &samples{}
	wg.Go(func() { live.run(ctx, simulated) })
	directed := newDirector(&o, live, reader)
	wg.Go(func() {
		directed.run(ctx, &actions.Stage{
			Ctx: ctx, Cluster: c, Simulated: simulated, Fleet: fleet, Groups: behaviours.Groups(reader.Fleet()), Seed: o.Seed, Note: live.note,
		})
	})
	defer at.serveRPC(simulated, where.rpc, o.Log)()
	var full error
	if o.DataDir != "" {
		wg.Go(func() {
			full = o.watchDisk(ctx, simulated.StorageError)
			cancel()
		})
	}
	ready(where)
	err = listen(ctx, at.http, at.secureHTTP, o.guard(o.withPage(live, directed, handler)), o.Log)
	cancel()
	wg.Wait()
	return errors.Join(err, full)
}

// cluster returns the settings of the servers, which tell figures and events of what they do, and the release that they are of.
func (o *Options) cluster(figures *telemetry.Telemetry, events *httpapi.Events) (cfg cluster.Config, release string, err error) {
	cfg, release, err = scenarios.ServersUnder(o.Broker)
	if err != nil {
		return cfg, "", err
	}
	cfg.Servers, cfg.NumSchedulers, cfg.Seed = o.Servers, o.Schedulers, o.Seed
	cfg.DataDir, cfg.Resume = o.DataDir, true
	cfg.Observer = figures
	cfg.Follow = func(a cluster.Applied) {
		figures.Follow(a)
		events.Follow(a)
	}
	return scale.Durations(cfg.WithDefaults(), o.TimeScale), release, nil
}

// fleet returns the clients of this process; nil if there are none.
func (o *Options) fleet(c *cluster.Cluster, cfg nodesim.Config) (*nodesim.Fleet, error) {
	if o.Nodes == 0 {
		return nil, nil
	}
	// Their own seed, or they would be the machines that simctl nodes brings by the same.
	cfg.Servers, cfg.Dial, cfg.Seed, cfg.ReportAllocs = o.Servers, c.NodeServer, ^o.Seed, true
	cfg.Timing = scale.Durations(nodesim.Timing{}.WithDefaults(), o.TimeScale)
	return nodesim.NewFleet(cfg)
}
