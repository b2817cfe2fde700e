package serve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/clientrpc"
	"github.com/simctl/simctl/cluster/httpapi"
	"github.com/simctl/simctl/cluster/telemetry"
	"github.com/simctl/simctl/internal/nomadrpc"
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

// Where tells where the listeners are.
type Where struct {
	HTTP netip.AddrPort
	RPC  []netip.AddrPort // of each server; nil without RPC
	// Env is the environment in which the nomad command reaches the API.
	Env []string
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
	secureHTTP, secureRPC, err := o.secure()
	if err != nil {
		return err
	}
	ln, err := net.Listen("tcp", o.HTTPAddr)
	if err != nil {
		return fmt.Errorf("--http-addr: %w", err)
	}
	defer ln.Close()
	rpcListeners, err := o.listenRPC()
	if err != nil {
		return err
	}
	defer closeAll(rpcListeners)
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
	cfg, release, err := scenarios.ServersUnder(o.Broker)
	if err != nil {
		return err
	}
	cfg.Servers, cfg.NumSchedulers, cfg.Seed = o.Servers, o.Schedulers, o.Seed
	cfg.DataDir, cfg.Resume = o.DataDir, true
	cfg.Observer = figures
	cfg.Follow = func(a cluster.Applied) {
		figures.Follow(a)
		events.Follow(a)
	}
	simulated, err := cluster.Start(ctx, scale.Durations(cfg.WithDefaults(), o.TimeScale))
	if err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("start the cluster: %w", err)
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
	where := Where{HTTP: addrOf(ln)}
	where.Env = o.environment(where.HTTP, secureHTTP)
	for _, ln := range rpcListeners {
		where.RPC = append(where.RPC, addrOf(ln))
	}
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
	for i, ln := range rpcListeners {
		srv := nomadrpc.NewServer(nomadrpc.ServerConfig{Methods: clientrpc.Methods(simulated, i, where.rpc), Log: o.Log, TLS: secureRPC})
		defer srv.Close()
		wg.Go(func() {
			if err := srv.Serve(ln); err != nil {
				o.Log.Error("RPC listener failed", "server", c.Addr(i), "error", err)
			}
		})
	}
	ready(where)
	return listen(ctx, ln, secureHTTP, o.guard(o.withPage(live, directed, handler)), o.Log)
}

// secure returns the TLS of the HTTP API, whose clients need no certificate, and of RPC, whose clients do: tls { http = true, rpc = true }.
// Both are nil if there is to be none.
func (o *Options) secure() (http, rpc *tls.Config, err error) {
	if http, err = o.TLS.Server(false); err == nil {
		rpc, err = o.TLS.Server(true)
	}
	if err == nil && o.RPCAddr != "" && rpc != nil {
		if wrong := rpc.Certificates[0].Leaf.VerifyHostname(nomadtls.ServerName("")); wrong != nil {
			err = fmt.Errorf("clients demand the name %s of servers: %w: issue one for it, too, or serve no RPC (--rpc-addr \"\")", nomadtls.ServerName(""), wrong)
		}
	}
	return http, rpc, err
}

// environment returns what the nomad command must know of the API at an address.
func (o *Options) environment(at netip.AddrPort, secure *tls.Config) []string {
	if secure == nil {
		return []string{"NOMAD_ADDR=http://" + at.String()}
	}
	env := []string{"NOMAD_ADDR=https://" + at.String(), "NOMAD_CACERT=" + scenarios.Quote(o.TLS.CA)}
	own := secure.Certificates[0].Leaf
	if names := own.DNSNames; own.VerifyHostname(at.Addr().String()) != nil && len(names) > 0 {
		env = append(env, "NOMAD_TLS_SERVER_NAME="+names[0])
	}
	return env
}

// standInPort is the port of the first server in what the API tells when there is no RPC.
const standInPort = 4647

// rpc returns the RPC address of a server or, without RPC, one that nobody listens at.
func (w *Where) rpc(i int) netip.AddrPort {
	if w.RPC == nil {
		return netip.AddrPortFrom(w.HTTP.Addr(), standInPort+uint16(i))
	}
	return w.RPC[i]
}

func addrOf(ln net.Listener) netip.AddrPort {
	at := ln.Addr().(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}

// listenRPC returns a listener for each server.
func (o *Options) listenRPC() (all []net.Listener, err error) {
	if o.RPCAddr == "" {
		return nil, nil
	}
	first, err := net.ResolveTCPAddr("tcp", o.RPCAddr)
	if err != nil {
		return nil, fmt.Errorf("--rpc-addr: %w", err)
	}
	for i := range o.Servers {
		at := *first
		if at.Port != 0 {
			at.Port += i
		}
		ln, err := net.ListenTCP("tcp", &at)
		if err != nil {
			closeAll(all)
			return nil, fmt.Errorf("--rpc-addr, server %d: %w", i+1, err)
		}
		all = append(all, ln)
	}
	return all, nil
}

func closeAll(all []net.Listener) {
	for _, ln := range all {
		ln.Close()
	}
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
