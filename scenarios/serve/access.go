package serve

import (
	"context"
	"crypto/subtle"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/simctl/simctl/cluster/httpapi"
)

// Access says who may reach an HTTP listener.
type Access struct {
	// AllowRemote allows addresses that are not of this machine alone, and takes a Token, which
	// every request must have then.
	AllowRemote bool
	Token       string
}

// check says what is wrong with the address that a flag names.
func (a *Access) check(flag, addr string) error {
	if a.AllowRemote && len(a.Token) < minToken {
		return fmt.Errorf("--allow-remote needs a token of at least %d characters, which every request must bring: set SIMCTL_TOKEN", minToken)
	}
	return checkAddr(flag, addr, 1, a.AllowRemote)
}

// minToken is how long a token must be at least.
const minToken = 16

// checkAddr refuses an address whose port is not followed by enough others for a row of ports. Unless remote is set, it
// also refuses addresses that other machines reach.
func checkAddr(flag, addr string, ports int, remote bool) error {
	host, port, err := net.SplitHostPort(addr)
	first, portErr := strconv.ParseUint(port, 10, 16)
	if err != nil || portErr != nil || int(first)+ports > 1<<16 {
		return fmt.Errorf("--%s %q: it must be an address and a port from 0 to %d, such as 127.0.0.1:4646", flag, addr, 1<<16-ports)
	}
	ip, err := netip.ParseAddr(host)
	switch {
	case err != nil && host != "localhost":
		return fmt.Errorf("--%s %q: %q must be an IP address or localhost", flag, addr, host)
	case host == "localhost" || ip.IsLoopback() || remote:
		return nil
	case flag == "rpc-addr":
		return fmt.Errorf("--%s %q: other machines reach this address, which only --http-addr can have: choose one of loopback", flag, addr)
	}
	return fmt.Errorf("--%s %q: other machines reach this address; add --allow-remote if that is meant", flag, addr)
}

// askBrowser makes browsers ask their users for the token, if there is one. They ask for it as a password, since a browser
// sends no other credentials by itself.
func (a *Access) askBrowser(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, given, _ := r.BasicAuth(); a.Token != "" && subtle.ConstantTimeCompare([]byte(given), []byte(a.Token)) != 1 {
			w.Header().Set("WWW-Authenticate", `Basic realm="simctl: the password is its SIMCTL_TOKEN", charset="UTF-8"`)
			http.Error(w, "the password is the token that is in SIMCTL_TOKEN of the simctl here, with any user name", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// guard refuses requests whose host is not a name of this machine. A browser sends such a request if another
// site has its own name lead to this address.
func (a *Access) guard(next http.Handler) http.Handler {
	if a.AllowRemote {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip, err := netip.ParseAddr(host); host != "localhost" && (err != nil || !ip.IsLoopback()) {
			http.Error(w, "this server answers for loopback addresses only, not for "+host, http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Limits of the HTTP listener. Idle connections are closed in the end; blocking queries are
// not idle. What is answered late, or in parts, renews the time to write.
const (
	maxConns      = 1024
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 64 << 10
	endTimeout    = 5 * time.Second
)

// listen serves a listener until ctx is done, which also ends the requests under way. Secure is nil for no TLS.
func listen(ctx context.Context, ln net.Listener, secure *tls.Config, h http.Handler, log *slog.Logger) error {
	srv := &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, WriteTimeout: httpapi.WriteTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		ErrorLog:    slog.NewLogLogger(log.Handler(), slog.LevelWarn),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	ended := make(chan error, 1)
	ln = &limited{Listener: ln, slots: make(chan struct{}, maxConns), log: log}
	if secure != nil {
		ln = tls.NewListener(ln, secure)
	}
	go func() { ended <- srv.Serve(ln) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve HTTP: %w", err)
	case <-ctx.Done():
	}
	patience, cancel := context.WithTimeout(context.Background(), endTimeout)
	defer cancel()
	err := srv.Shutdown(patience)
	if err != nil {
		err = srv.Close() // whoever does not read or write is cut off
	}
	<-ended
	return err
}
