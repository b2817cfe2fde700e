package serve

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"sync"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/clientrpc"
	"github.com/simctl/simctl/internal/nomadrpc"
	"github.com/simctl/simctl/internal/nomadtls"
	"github.com/simctl/simctl/scenarios"
)

// Where tells where the listeners are.
type Where struct {
	HTTP netip.AddrPort
	RPC  []netip.AddrPort // of each server; nil without RPC
	// Env is the environment in which the nomad command reaches the API.
	Env []string
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

// listeners are where a served cluster is reached, and the TLS there, which is nil if there is none.
type listeners struct {
	http                  net.Listener
	rpc                   []net.Listener // of each server; nil without RPC
	secureHTTP, secureRPC *tls.Config
}

// open returns the listeners that the options ask for.
func (o *Options) open() (l *listeners, err error) {
	l = &listeners{}
	if l.secureHTTP, l.secureRPC, err = o.secure(); err != nil {
		return nil, err
	}
	if l.http, err = net.Listen("tcp", o.HTTPAddr); err != nil {
		return nil, fmt.Errorf("--http-addr: %w; "+wantAddress, err)
	}
	if l.rpc, err = o.listenRPC(); err != nil {
		l.http.Close()
		return nil, err
	}
	return l, nil
}

func (l *listeners) close() {
	closeAll(l.rpc)
	l.http.Close()
}

// where tells where the listeners are.
func (l *listeners) where(o *Options) Where {
	w := Where{HTTP: addrOf(l.http)}
	w.Env = o.environment(w.HTTP, l.secureHTTP)
	for _, ln := range l.rpc {
		w.RPC = append(w.RPC, addrOf(ln))
	}
	return w
}

// serveRPC has each server answer clients at its listener until end is called.
func (l *listeners) serveRPC(c *cluster.Cluster, addr func(server int) netip.AddrPort, log *slog.Logger) (end func()) {
	var wg sync.WaitGroup
	var servers []*nomadrpc.Server
	for i, ln := range l.rpc {
		srv := nomadrpc.NewServer(nomadrpc.ServerConfig{Methods: clientrpc.Methods(c, i, addr), Log: log, TLS: l.secureRPC})
		servers = append(servers, srv)
		wg.Go(func() {
			if err := srv.Serve(ln); err != nil {
				log.Error("RPC listener failed", "server", c.Addr(i), "error", err)
			}
		})
	}
	return func() {
		for _, srv := range servers {
			srv.Close()
		}
		wg.Wait()
	}
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

func addrOf(ln net.Listener) netip.AddrPort {
	at := ln.Addr().(*net.TCPAddr).AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap(), at.Port())
}

// wantAddress helps when the system does not let a program listen at an address, most likely since another does.
const wantAddress = "want an address of this machine and a port at which no program listens, or 0 for any"

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
			return nil, fmt.Errorf("--rpc-addr, server %d: %w; "+wantAddress, i+1, err)
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
